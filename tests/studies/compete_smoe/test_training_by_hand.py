"""A language model with competing layers once more: equations 2 to 5 in dense form, Adam and the measures by hand."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moestat.experiment import Cell  # noqa: E402
from moestat.training import corpus as corpora  # noqa: E402
from moestat.training import lm_training  # noqa: E402
from studies.compete_smoe.parts import compete_lm  # noqa: E402
from studies.compete_smoe.parts.smoe_measures import routing  # noqa: E402

STEPS, BATCH, LENGTH, HEADS, K = 8, 4, 16, 4, 2
SETTINGS = {"blocks": 2, "width": 16, "length": LENGTH, "experts": 6, "batch": BATCH, "steps": STEPS, "every": STEPS}
SETTINGS |= {"validation": 256, "test": 256, "warmup": 0.25}


def gates(scores):
    cut = scores.detach().sort(dim=-1, descending=True).values[..., K - 1 : K]
    return torch.where(scores >= cut, scores, torch.full_like(scores, -math.inf)).softmax(-1)


def forward(w, tokens, competes=(), output="router", seen=None):
    """Return log-probabilities (batch, length, vocabulary), and L_R of the layers that compete."""

    def norm(x, name):
        centred = x - x.mean(-1, keepdim=True)
        unit = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return unit * w[name + ".gain"] + w[name + ".shift"]

    def scores(f, z):
        if f + "router.down" in w:
            u, e = z @ w[f + "router.down"], w[f + "router.embeddings"]
            return (u / u.norm(dim=1, keepdim=True)) @ (e / e.norm(dim=0)) / w[f + "router.log_temperature"].exp()
        return z @ w[f + "router.weight"]

    x = w["embedding"][tokens] + w["position"][: tokens.shape[1]]
    size, extra = x.shape[-1] // HEADS, {}
    later = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
    for b in range(sum(name.endswith("attention.out") for name in w)):
        p, heads = f"blocks.{b}.", []
        q, k, v = (norm(x, p + "attention_norm") @ w[p + "attention.into"].T).chunk(3, -1)
        for h in range(HEADS):
            at = slice(h * size, (h + 1) * size)
            a = (q[..., at] @ k[..., at].mT / math.sqrt(size)).masked_fill(later, -math.inf).softmax(-1)
            heads.append(a @ v[..., at])
        x = x + torch.cat(heads, -1) @ w[p + "attention.out"].T
        z, f = norm(x, p + "feed_forward_norm"), p + "feed_forward."
        if f + "into" in w:
            x = x + torch.relu(z @ w[f + "into"].T + w[f + "into_bias"]) @ w[f + "out"].T + w[f + "out_bias"]
            continue
        z = z.flatten(0, 1)
        parts = zip(*(w[f + "experts." + n] for n in ("first", "first_bias", "second", "second_bias")), strict=True)
        outs = torch.stack([torch.relu(z @ one + c) @ two + d for one, c, two, d in parts], dim=1)
        size_of, own = outs.square().sum(-1).sqrt(), scores(f, z)
        if b in competes:
            extra[f] = (gates(scores(f, z.detach())) - gates(size_of.detach())).square().mean()
        gate = gates(size_of if b in competes and output == "competition" else own)
        if seen is not None:
            seen.append((own, gates(own), gates(size_of)))
        x = x + (gate[..., None] * outs).sum(1).view_as(x)
    return (norm(x, "norm") @ w["head"].T + w["head_bias"]).log_softmax(-1), extra


def nll(w, data, *how):
    log_p, extra = forward(w, data[:, :-1], *how)
    return -log_p.gather(-1, data[:, 1:, None]).mean(), extra


def adam(w, text, keys, s):
    mean, square = ({name: torch.zeros_like(v) for name, v in w.items()} for _ in range(2))
    rng, warm = np.random.default_rng(0), round(s.warmup * STEPS)
    for t in range(1, STEPS + 1):
        flips = {b: np.random.Generator(np.random.Philox(key=key, counter=t - 1)).random() for b, key in keys.items()}
        coins = [b for b, flip in flips.items() if flip < s.probability]
        starts = rng.integers(0, text.size - LENGTH, BATCH)
        data = torch.from_numpy(np.stack([text[a : a + LENGTH + 1] for a in starts]).astype(np.int64))
        loss, extra = nll(w, data, coins, s.competition_output)
        g = dict(zip(w, torch.autograd.grad(loss, list(w.values()), retain_graph=True, allow_unused=True), strict=True))
        for f, own in extra.items():
            name = f + "router.weight"
            task = 0.0 if g[name] is None else s.alpha * g[name]
            g[name] = torch.autograd.grad(own, w[name])[0] + task
        g = {name: v for name, v in g.items() if v is not None}
        clip = min(1.0, 1.0 / (math.sqrt(sum(float(v.square().sum()) for v in g.values())) + 1e-6))
        rate = s.rate * (t / warm if t <= warm else math.sqrt(warm / t))
        with torch.no_grad():
            for name, v in g.items():
                mean[name] = 0.9 * mean[name] + 0.1 * clip * v
                square[name] = 0.98 * square[name] + 0.02 * (clip * v) ** 2
                w[name] -= rate * mean[name] / (1 - 0.9**t) / ((square[name] / (1 - 0.98**t)).sqrt() + 1e-8)


@pytest.mark.parametrize(
    "how",
    [
        {"router": "compete_smoe", "probability": 0.5, "architecture": "glam"},
        {"router": "compete_smoe", "probability": 1.0, "competition_output": "competition"},
        {"router": "xmoe"},
    ],
)
def test_training_and_measures_are_those_of_the_plain_form(how):
    """Weights after eight steps in double precision, then losses, entropies, overlap, L_R and usage."""
    s = compete_lm.Settings(**SETTINGS | how)
    cell, corpus = Cell(compete_lm.__name__, 3, "arm", {}, s.model_dump(mode="json")), corpora.load()
    model = compete_lm.model_of(cell, s, 0, corpus.vocabulary).double()
    w = {name: v.clone().requires_grad_() for name, v in model.state_dict().items()}
    parts = {b: block.feed_forward for b, block in enumerate(model.blocks)}
    layers = {b: part.competition for b, part in parts.items() if hasattr(part, "competition")}
    adam(w, corpus.train, {b: c.key for b, c in layers.items() if c is not None}, s)
    lm_training.train(model, corpus, compete_lm.plan_of(s), batches=np.random.default_rng(0))
    for name, v in model.state_dict().items():
        torch.testing.assert_close(w[name].detach(), v, rtol=1e-8, atol=1e-10)

    ids = torch.from_numpy(corpus.test[:257].astype(np.int64))
    data, seen = torch.cat([ids[:-1].view(16, 16), ids[1:].view(16, 16)[:, -1:]], dim=1), []
    assert nll(w, data)[0].item() == pytest.approx(lm_training.evaluate(model, corpus.test, 16, limit=256))
    forward(w, data[:, :-1], seen=seen)
    found = routing(model, corpus.test, 16, limit=256)
    for b, (own, mine, wins) in enumerate(seen):
        p, mine, wins = (v.detach().numpy() for v in (own.softmax(-1), mine, wins))
        share = (mine > 0).mean(axis=0) / K
        assert found.entropy[b] == pytest.approx(-(p * np.log(p)).sum(axis=1).mean())
        gate = -mine * np.log(np.where(mine > 0, mine, 1.0))
        assert found.entropy_top_k[b] == pytest.approx(gate.sum(axis=1).mean())
        assert found.overlap[b] == pytest.approx(((mine > 0) & (wins > 0)).sum() / K / len(mine))
        assert found.router_loss[b] == pytest.approx(((mine - wins) ** 2).mean())
        assert found.usage_entropy[b] == pytest.approx(-sum(u * math.log(u) for u in share if u))
