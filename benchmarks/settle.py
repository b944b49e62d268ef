"""How far apart do two searches of the least-squares argmin end, by the evaluations that they spend?

    python benchmarks/settle.py --half second --budget 40000 --jobs 2     # an hour; the rows of results/settle.csv
    python benchmarks/settle.py --half second --method global_search      # the search of the records, for comparison
    python benchmarks/settle.py --summary

Data: a softmax truth of d - 0 ... atoms, one atom more fitted by either gate, noise variance 0.01; data sets 0 to 2 are
the first half, by which the moves were chosen, 3 to 5 the second, which is reported. Rows are appended as they come.
"""
