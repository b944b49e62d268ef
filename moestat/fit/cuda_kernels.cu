// What moestat.fit.cuda compiles by NVRTC, and nothing but plain C otherwise, so that a test can run it without a GPU.
// N, GATE, EXPERT and POWER are defined by the caller; samples stand last in every array, members of a batch first.

#define SOFTMAX 0
#define SIGMOID 1
#define RELU 0
#define LINEAR 1
#define GELU 2
#define POLYNOMIAL 3
#define LONG long long

#ifdef N
// The gate values g and the expert's value, slope and bend of every atom at one sample; returns f. What is not a number
// stays none, as in NumPy: fmin and fmax would lose it.
__device__ static double atoms(const double *s, const double *h, LONG n, double tau, double *g, double *phi, double *d1,
                               double *d2) {
  double top = s[0], sum = 0.0, f = 0.0;
  if (GATE == SOFTMAX) {
    for (int i = 1; i < N; i++) top = fmax(top, s[i * n]);
    for (int i = 0; i < N; i++) sum += g[i] = exp(s[i * n] - top);
    for (int i = 0; i < N; i++) g[i] /= sum;
  } else {
    for (int i = 0; i < N; i++) g[i] = 1.0 / (1.0 + exp(s[i * n] < -700.0 ? 700.0 : -s[i * n]));
  }
  for (int i = 0; i < N; i++) {
    double z = h[i * n];
    if (EXPERT == RELU) {
      double ramp = tau > 0.0 ? 0.5 * z / tau + 0.5 : z > 0.0;
      ramp = ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
      phi[i] = tau * ramp * ramp + (z < tau ? 0.0 : z - tau);
      d1[i] = ramp;
      d2[i] = ramp > 0.0 && ramp < 1.0 ? 0.5 / tau : 0.0;
    } else if (EXPERT == GELU) {
      double below = 0.5 * erfc(-0.70710678118654752440 * z), density = 0.39894228040143267794 * exp(-0.5 * z * z);
      phi[i] = z * below;
      d1[i] = below + z * density;
      d2[i] = density * (2.0 - z * z);
    } else if (EXPERT == POLYNOMIAL) {
      double lower = 1.0, low = POWER > 1 ? 1.0 : 0.0; // z^(POWER - 1), z^(POWER - 2)
      for (int k = 1; k < POWER; k++) low = lower, lower *= z;
      phi[i] = lower * z;
      d1[i] = POWER * lower;
      d2[i] = POWER * (POWER - 1) * low;
    } else {
      phi[i] = z, d1[i] = 1.0, d2[i] = 0.0;
    }
    f += g[i] * phi[i];
  }
  return f;
}

// Residuals (M, n) of members whose scores and pre-activations are (M, N, n), and whose responses are row of[b] of y.
extern "C" __global__ void residuals(const double *scores, const double *inner, const double *y, const LONG *of, LONG n,
                                     const double *tau, double *residual) {
  LONG t = (LONG)blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
  if (t >= n) return;
  double g[N], phi[N], d1[N], d2[N];
  residual[b * n + t] =
      atoms(scores + b * N * n + t, inner + b * N * n + t, n, tau[b], g, phi, d1, d2) - y[of[b] * n + t];
}

// Besides, what the products that make gradient and Hessian are taken of (see Problem._moments): df/ds and df/dh times
// the residual (M, N, n), and the weights of pairs of atoms, gate-gate and expert-expert (M, N (N + 1) / 2, n), i = j
// first, and gate-expert (M, N N + N, n), those of i = j that multiply second derivatives last.
extern "C" __global__ void weights(const double *scores, const double *inner, const double *y, const LONG *of, LONG n,
                                   const double *tau, double *residual, const double *curvature, double *score_slopes,
                                   double *inner_slopes, double *gate_gate, double *gate_expert, double *expert_expert) {
  LONG t = (LONG)blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
  if (t >= n) return;
  double g[N], phi[N], d1[N], d2[N], u[N];
  double f = atoms(scores + b * N * n + t, inner + b * N * n + t, n, tau[b], g, phi, d1, d2);
  double r = f - y[of[b] * n + t], kr = curvature[b] * r;
  residual[b * n + t] = r;
  double *gg = gate_gate + b * (N * (N + 1) / 2) * n + t, *ee = expert_expert + b * (N * (N + 1) / 2) * n + t;
  double *ge = gate_expert + b * (N * N + N) * n + t;
  for (int i = 0; i < N; i++) {
    u[i] = GATE == SOFTMAX ? g[i] * (phi[i] - f) : g[i] * (1.0 - g[i]) * phi[i];
    score_slopes[(b * N + i) * n + t] = u[i] * r;
    inner_slopes[(b * N + i) * n + t] = g[i] * d1[i] * r;
    d2[i] *= kr * g[i];
    d1[i] *= g[i]; // df/dh from here on
  }
  int pair = N;
  for (int i = 0; i < N; i++) {
    double left = GATE == SOFTMAX ? u[i] - kr * g[i] : u[i];
    gg[i * n] = u[i] * u[i] + (1.0 - 2.0 * g[i]) * kr * u[i]; // of either gate
    ee[i * n] = d1[i] * d1[i] + d2[i];
    ge[(N * N + i) * n] = GATE == SOFTMAX ? kr * d1[i] : (1.0 - g[i]) * kr * d1[i];
    for (int j = 0; j < N; j++) ge[(i * N + j) * n] = left * d1[j];
    for (int j = i + 1; j < N; j++, pair++) {
      gg[pair * n] = GATE == SOFTMAX ? left * u[j] - kr * u[i] * g[j] : u[i] * u[j];
      ee[pair * n] = d1[i] * d1[j];
    }
  }
}

// Hessians (., p, p) of so many members, each in its row of all, from the moments of pairs of atoms: every entry is one
// of them (index) times a factor; the three arrays have width[0], width[1] and width[2] monomials a pair.
extern "C" __global__ void assemble(const double *gate_gate, const double *gate_expert, const double *expert_expert,
                                    const LONG *width, const int *index, const double *factor, double over, LONG size,
                                    const LONG *row, double *hessian) {
  LONG e = (LONG)blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
  if (e >= size) return;
  LONG pairs = N * (N + 1) / 2, at = index[e];
  double value;
  if (at < pairs * width[0]) {
    value = gate_gate[b * pairs * width[0] + at];
  } else if ((at -= pairs * width[0]) < N * N * width[1]) {
    const double *own = gate_expert + b * (N * N + N) * width[1];
    LONG pair = at / width[1];
    value = own[at];
    if (pair / N == pair % N) value += own[(N * N + pair / N) * width[1] + at % width[1]];
  } else {
    value = expert_expert[b * pairs * width[2] + at - N * N * width[1]];
  }
  hessian[row[b] * size + e] = value * factor[e] * over;
}
#endif

// Matrices (M, p, p), those in the given rows, plus damping on the free coordinates (M, p), the identity on the others.
extern "C" __global__ void damp(const double *h, const double *damping, const bool *is_free, const LONG *row, LONG p,
                                double *out) {
  LONG e = (LONG)blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
  if (e >= p * p) return;
  LONG i = e / p, j = e % p;
  int both = is_free[b * p + i] && is_free[b * p + j];
  out[b * p * p + e] = (both ? h[row[b] * p * p + e] : i == j) + (i == j && both ? damping[b] : 0.0);
}
