from studies.mixture_of_transformers.parts.text_ids import PAD, UNKNOWN, WordIds, words


def test_words_and_ids():
    assert words("Don't stop, NOW!") == ["don't", "stop", ",", "now", "!"]
    ids = WordIds(["b a b", "a b c"], size=4)
    assert ids.ids == {"b": 2, "a": 3} and ids.size == 4
    assert ids(["a b zzz", "b", "a a a a a"], 4).tolist() == [[3, 2, UNKNOWN, PAD], [2, 0, 0, 0], [3, 3, 3, 3]]
