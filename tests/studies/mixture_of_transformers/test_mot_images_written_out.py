"""A training of the image mixture against one written out: plain softmax attention, top-1 routing, AdamW by formula."""

import functools
import math

import numpy as np
import pytest

from moestat.experiment import Cell
from studies.mixture_of_transformers.parts import mot_images, mot_real

TINY = {"experts": 2, "width": 8, "depth": 1, "heads": 2, "hidden": 8, "stage_one": 1, "stage_two": 2}
TINY |= {"epochs": 3, "batch": 64, "train": 192, "test": 120, "rate": 3e-3, "router_rate": 3e-3}


def test_a_mixture_of_image_transformers_has_the_errors_of_a_training_written_out():
    torch = pytest.importorskip("torch")
    s = mot_images.Settings(**TINY)
    cell = Cell(mot_images.__name__, 5, "arm", {}, s.model_dump(mode="json"))
    streams = functools.partial(cell.generator, 0)
    found = mot_images.run(cell, [0])["test_error"].values[0]
    posed = mot_images.problem(s, streams)
    model = mot_real.start(s, streams, posed)
    at = {name: value.detach().clone().requires_grad_() for name, value in model.named_parameters()}
    perturbation = mot_real.generator(streams("perturbation"))
    (x, test), (target, right) = ((torch.from_numpy(a) for a in pair) for pair in (posed.inputs, posed.target))
    order = streams("batches", samples=len(x))

    def linear(name, z):
        return z @ at[f"{name}.weight"].T + at[f"{name}.bias"]

    def norm(name, z):
        centred = z - z.mean(-1, keepdim=True)
        scaled = centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + 1e-5)
        return scaled * at[f"{name}.weight"] + at[f"{name}.bias"]

    def expert(m, z):
        of = f"experts.{m}"
        z = linear(f"{of}.embedding.patch", z) + at[f"{of}.embedding.position"]
        of_block = f"{of}.blocks.0"
        seen = norm(f"{of_block}.attention_norm", z)
        both, value = linear(f"{of_block}.attention.query_key", seen), linear(f"{of_block}.attention.value", seen)
        mixed = [
            torch.softmax(both[..., h : h + 4] @ both[..., 8 + h : 12 + h].transpose(1, 2) / 2.0, dim=-1)
            @ value[..., h : h + 4]
            for h in (0, 4)
        ]
        z = z + linear(f"{of_block}.attention.out", torch.cat(mixed, dim=-1))
        inner = linear(f"{of_block}.feed_forward.0.0", norm(f"{of_block}.norm", z))
        z = z + linear(f"{of_block}.feed_forward.0.2", inner * (1 + torch.erf(inner / math.sqrt(2))) / 2)
        return linear(f"{of}.head", norm(f"{of}.norm", z).mean(dim=1))

    def routed(z, noise):
        scores = z.flatten(1) @ at["router.theta"]
        chosen = (scores.detach() + noise).argmax(dim=1)
        every = torch.stack([expert(m, z) for m in range(2)])
        rows = torch.arange(len(z))
        return every[chosen, rows], torch.softmax(scores, dim=1)[rows, chosen]

    def loss(output, truth):
        return -torch.log_softmax(output, dim=1)[torch.arange(len(truth)), truth].mean()

    errors = []
    for epoch in range(3):  # one epoch a stage
        moves = [n for n in at if n.startswith("router.") or (".attention." in n) == (epoch == 1)]
        moments = {n: (torch.zeros_like(at[n]), torch.zeros_like(at[n])) for n in moves}
        for step, rows in enumerate(torch.from_numpy(order.permutation(len(x))).split(64), start=1):
            output, gate = routed(x[rows], torch.rand(len(rows), 2, generator=perturbation))
            total = loss(output, target[rows]) + loss(gate[:, None] * output.detach(), target[rows])
            gradients = torch.autograd.grad(total, [at[n] for n in moves])
            with torch.no_grad():
                for name, gradient in zip(moves, gradients, strict=True):
                    mean, square = moments[name]
                    mean.mul_(0.9).add_(0.1 * gradient)
                    square.mul_(0.999).add_(0.001 * gradient**2)
                    move = mean / (1 - 0.9**step) / (torch.sqrt(square / (1 - 0.999**step)) + 1e-8)
                    at[name].mul_(1 - 3e-3 * 0.01).sub_(3e-3 * move)
        with torch.no_grad():
            errors.append(float((routed(test, 0.0)[0].argmax(dim=1) != right).double().mean()))
    # single precision: a test image may change sides
    np.testing.assert_allclose(found, errors, rtol=0, atol=1.5 / 120)
