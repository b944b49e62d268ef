"""The loss of a large vocabulary, a block of rows at a time."""

import pytest

torch = pytest.importorskip("torch")

from moestat.training.vocabulary_loss import ROWS, linear_cross_entropy  # noqa: E402


@pytest.mark.parametrize("rows", [1, ROWS, 2 * ROWS + 3])
def test_linear_cross_entropy_is_the_composition(rows):
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (
        torch.randn(*size, generator=generator, dtype=torch.float64) for size in ((rows, 5), (7, 5), (7,))
    )
    target = torch.randint(7, (rows,), generator=generator)
    ours, theirs = ([t.clone().requires_grad_() for t in (x, weight, bias)] for _ in range(2))
    loss = linear_cross_entropy(*ours, target)
    reference = torch.nn.functional.cross_entropy(theirs[0] @ theirs[1].t() + theirs[2], target)
    (3.0 * loss).backward()
    (3.0 * reference).backward()
    torch.testing.assert_close(loss, reference)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad)
