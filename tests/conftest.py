"""What holds for all tests: the same examples in every run, so that a failure is one of the change that it follows."""

import hypothesis

# search further now and then with:  python -m pytest --hypothesis-profile=search
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.register_profile("search", max_examples=1000, deadline=None)
hypothesis.settings.load_profile("same")
