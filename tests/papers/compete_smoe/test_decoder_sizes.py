import pytest

pytest.importorskip("torch")

from moestat.papers.compete_smoe import decoder_sizes


@pytest.mark.parametrize(("size", "millions"), [("tiny", 7), ("small", 15), ("medium", 36)])
def test_sizes_have_the_parameters_of_the_paper(size, millions):
    """With 16 experts per block, two matrices each; embeddings apart (CompeteSMoE, section 6.1)."""
    shape = decoder_sizes.shape_of("switch", size, 205)
    block = 4 * shape.width**2 + 16 * 2 * shape.width * shape.hidden
    assert shape.blocks * block / 1e6 == pytest.approx(millions, abs=0.6)
