"""Templates of study files: what they expand to, what is refused, and that the expansion can be printed."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moestat import cli
from moestat.errors import InputError
from moestat.study import load
from moestat.study.spec import Study
from moestat.study.templates import TemplateError, expand
from moestat.study.toml_text import document

STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))


def claims(text: str) -> list[dict]:
    return expand(tomllib.loads(text), Study)["claims"]


def test_a_row_sets_fields_and_fills_texts():
    made = claims("""
[[claims]]
id = "slope-{gate}-{n}"
statement = "{gate} at n = {n}: {{{predicted}}}."
arm = "{gate}-arm"
at = { n = "{n}", "{gate}" = [1, "{n}"] }
predicted = "none"
each = [{ gate = "softmax", n = 100, predicted = -0.24 }, { gate = "sigmoid", n = 200 }]
""")
    assert made == [
        {
            "id": "slope-softmax-100",
            "statement": "softmax at n = 100: {-0.24}.",
            "arm": "softmax-arm",
            "at": {"n": 100, "softmax": [1, 100]},
            "predicted": -0.24,
        },
        {
            "id": "slope-sigmoid-200",
            "statement": "sigmoid at n = 200: {none}.",
            "arm": "sigmoid-arm",
            "at": {"n": 200, "sigmoid": [1, 200]},
            "predicted": "none",
        },
    ]


def test_the_rows_of_a_product_vary_the_last_axis_fastest_and_each_slowest():
    made = claims("""
[[claims]]
id = "{a}{b}{c}"
each = [{ a = 1 }, { a = 2 }]
product.b = ["x", { b = "y", at = { n = 1 } }]
product.c = [true, 0.5]
at = { m = 0 }
""")
    assert [c["id"] for c in made] == ["1xtrue", "1x0.5", "1ytrue", "1y0.5", "2xtrue", "2x0.5", "2ytrue", "2y0.5"]
    assert made[0]["at"] == {"m": 0} and made[2]["at"] == {"m": 0, "n": 1}


def test_a_key_may_be_made_of_others_and_panels_know_the_keys_of_their_figure():
    raw = tomllib.loads("""
[[figures]]
name = "{regime}"
each = [{ regime = "sparse" }, { regime = "dense" }]

[[figures.panels]]
title = "{name}: {ylabel}"
ylabel = "loss {variable}"
product.variable = ["L1", "L2"]

[[figures.panels]]
title = "all of {regime}"
""")
    made = expand(raw, Study)["figures"]
    assert [f["name"] for f in made] == ["sparse", "dense"]
    assert [p["title"] for p in made[1]["panels"]] == ["dense: loss L1", "dense: loss L2", "all of dense"]


def test_text_outside_of_templates_is_left_alone():
    raw = {"claims": [{"id": "a", "statement": "{x} and } and {{"}], "about": "{}", "arms": 3, "rates": ["x", 4]}
    assert expand(raw, Study) == raw


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ('id = "{gat}"\neach = [{ gate = 1 }]', ["claims[0].each[0].id", "{gat}", "did you mean 'gate'?"]),
        ('id = "{gate}"\neach = [{ gate = 1 }, { n = 2 }]', ["claims[0].each[1].id", "{gate}"]),
        ('id = "{a}"\neach = [{ a = 1, statment = "x" }]', ["claims[0]", "'statment'", "nowhere", "'statement'"]),
        ('id = "x"\neach = [{ arm = "a" }, { arm = "b" }]', ["claims[0]", "each[0]", "each[1]", "'x'"]),
        ('id = "{"\neach = [{ arm = "a" }]', ["claims[0].each[0].id", "{{"]),
        ('id = "a}"\neach = [{ arm = "a" }]', ["claims[0].each[0].id", "}}"]),
        ('id = "{arm}"\narm = "{id}"\neach = [{ at = {} }]', ["claims[0]", "defined by itself"]),
        ('id = "{at}-x"\neach = [{ at = { n = 1 } }]', ["claims[0].each[0].id", "{at}", "text and numbers"]),
        ('id = "x"\neach = []', ["claims[0].each", "list of tables"]),
        ('id = "x"\neach = ["relu"]', ["claims[0].each", "list of tables"]),
        ('id = "x"\nproduct = { n = 3 }', ["claims[0].product", "table of lists"]),
        ('id = "x"\nproduct = { n = [] }', ["claims[0].product", "none of them empty"]),
        ('id = "{n}"\neach = [{ n = 1 }]\nproduct = { n = [2] }', ["claims[0].each[0]", "product.n[0]", "'n' twice"]),
        (
            'id = "{n}"\nat = { "{n}" = 1, x = 2 }\neach = [{ n = "x" }]',
            ["claims[0].each[0].at", "twice"],
        ),
        ('id = "{a}{b}"\nproduct = { a = [%s], b = [%s] }' % (("1," * 200,) * 2), ["claims[0]", "10000"]),
    ],
)
def test_what_cannot_be_expanded_is_named(table, parts):
    with pytest.raises(TemplateError) as caught:
        claims(f"[[claims]]\n{table}\n")
    for part in parts:
        assert part in str(caught.value)


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[[arms]]\nname = "{gate}"\neach = [{ expert = "relu" }]\n')
    with pytest.raises(InputError, match=r"mine\.toml: arms\[0\]\.each\[0\]\.name places \{gate\}"):
        load.read(path)


words = st.text(st.characters(codec="ascii", exclude_characters="{}"), max_size=6)
rows = st.lists(
    st.fixed_dictionaries({"gate": words, "n": st.integers(1, 3)}, optional={"predicted": st.floats(-1, 1)}),
    min_size=1,
    max_size=4,
    unique_by=lambda row: (row["gate"], row["n"]),
)


@settings(deadline=None)
@given(rows=rows, losses=st.lists(words, min_size=1, max_size=3, unique=True), before=words)
def test_an_expanded_file_expands_to_itself_and_a_template_to_the_tables_written_by_hand(rows, losses, before):
    template = {"id": "{gate}|{n}|{loss}", "statement": "{{" + before + "}} {gate}", "each": rows}
    raw = {"claims": [template | {"product": {"loss": losses}, "variable": "{loss}", "at": {"n": "{n}"}}]}
    made = expand(raw, Study)
    by_hand = [
        {"id": f"{row['gate']}|{row['n']}|{loss}", "statement": "{" + before + "} " + row["gate"]}
        | {"variable": loss, "at": {"n": row["n"]}}
        | {key: value for key, value in row.items() if key == "predicted"}
        for row in rows
        for loss in losses
    ]
    if len({claim["id"] for claim in by_hand}) == len(by_hand):
        assert made["claims"] == by_hand
        assert expand(made, Study) == made


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_what_show_prints_loads_to_the_same_study(path, tmp_path, capsys):
    assert cli.main([str(path), "--show"]) == 0
    printed = capsys.readouterr().out
    assert not any(key in table for table in tomllib.loads(printed)["claims"] for key in ("each", "product"))
    copy = tmp_path / path.name
    copy.write_text(printed, encoding="utf-8")
    assert load.read(copy).study == load.read(path).study


scalars = st.one_of(st.text(max_size=8), st.integers(), st.floats(allow_nan=False), st.booleans())
keys = st.text(max_size=4)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)


@settings(deadline=None)
@given(content=st.dictionaries(keys, values, max_size=4))
def test_the_printed_toml_holds_what_was_to_be_printed(content):
    assert tomllib.loads(document(content)) == content
