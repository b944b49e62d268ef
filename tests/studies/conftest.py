"""Makes ``cells`` importable from the tests of every paper."""
