"""Fine-tune a pretrained decoder with sparse mixtures to classify texts (compete-smoe paper, section 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

from moestat.training.corpus import Corpus
from moestat.training.decoder import Decoder, linear
from moestat.training.labelled_text import LabelledTextError
from studies.compete_smoe.parts.smoe import ExpertBank


@dataclass(frozen=True)
class Ids:
    """Texts as symbols of a corpus."""

    ids: np.ndarray  # (n, length): longer texts are cut; what stands after the end of a text is without meaning
    lengths: np.ndarray  # (n,): At least 1


def as_symbols(texts: Sequence[str], corpus: Corpus, length: int) -> Ids:
    """Write texts in the symbols that a model was pretrained on: characters, bytes or words.

    A symbol that the corpus does not have becomes ``<unk>`` if there is one, else a blank.
    """
    known = {symbol: number for number, symbol in enumerate(corpus.symbols)}
    unknown = known.get("<unk>", known.get(" "))
    if unknown is None:
        raise LabelledTextError(f"{corpus.name} has neither a blank nor '<unk>' to stand for symbols it does not have")
    ids = np.zeros((len(texts), length), dtype=np.int64)
    lengths = np.ones(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        parts = _split(text, corpus)
        numbers = [known.get(part, unknown) for part in parts[:length]] or [unknown]
        ids[row, : len(numbers)], lengths[row] = numbers, len(numbers)
    return Ids(ids, lengths)


def _split(text: str, corpus: Corpus) -> Sequence[str]:
    if corpus.unit == "word":
        return text.split()
    return text.encode().decode("latin-1") if corpus.unit == "byte" else text


class Classifier(torch.nn.Module):
    """A pretrained decoder without its last layer, changed in place, the mean over the text, and two new layers.

    The experts and the new layers learn, everything else is frozen, the routers too, as in the paper. The decoder stays
    in its evaluation mode: no competition, no balancing loss.
    """

    def __init__(self, decoder: Decoder, classes: int, generator: np.random.Generator) -> None:
        super().__init__()
        self.decoder = decoder.eval()
        width = decoder.shape.width
        self.inside, self.inside_bias = linear(generator, width, width), torch.nn.Parameter(torch.zeros(width))
        self.out, self.out_bias = linear(generator, width, classes), torch.nn.Parameter(torch.zeros(classes))
        experts = {id(p) for m in decoder.modules() if isinstance(m, ExpertBank) for p in m.parameters()}
        for parameter in decoder.parameters():
            parameter.requires_grad_(id(parameter) in experts)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the logits (n, classes) of texts (n, length) of which the first ``lengths`` symbols count."""
        longest = int(lengths.max())
        real = torch.arange(longest, device=ids.device) < lengths[:, None]
        mean = (self.decoder(ids[:, :longest]) * real[..., None]).sum(dim=1) / lengths[:, None]
        return F.linear(torch.relu(F.linear(mean, self.inside, self.inside_bias)), self.out, self.out_bias)


def tune(
    model: Classifier, texts: Ids, target: np.ndarray, *, steps: int, batch: int, rate: float, rng: np.random.Generator
) -> np.ndarray:
    """Train with Adam on random batches, an epoch being a random order; return the cross-entropy of every step."""
    device = model.out.device
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(learnt, lr=rate, fused=True)
    order = np.zeros(0, dtype=np.int64)
    losses = np.full(steps, np.nan)
    for step in range(steps):
        if order.size < min(batch, target.size):
            order = rng.permutation(target.size)
        rows, order = order[:batch], order[batch:]
        ids, lengths, wanted = (torch.from_numpy(a[rows]).to(device) for a in (texts.ids, texts.lengths, target))
        loss = F.cross_entropy(model(ids, lengths), wanted)
        losses[step] = loss.item()
        if not np.isfinite(losses[step]):
            break
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return losses


def accuracy(model: Classifier, texts: Ids, target: np.ndarray, *, batch: int = 64) -> float:
    """Return the share of the texts whose class has the largest logit."""
    device = model.out.device
    right = 0
    with torch.inference_mode():
        for start in range(0, target.size, batch):
            rows = slice(start, start + batch)
            ids, lengths = (torch.from_numpy(a[rows]).to(device) for a in (texts.ids, texts.lengths))
            right += int((model(ids, lengths).argmax(dim=1).cpu().numpy() == target[rows]).sum())
    return right / target.size
