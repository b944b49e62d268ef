"""``python -m moestat.study``: see :mod:`moestat.study.cli`."""

from moestat.study.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
