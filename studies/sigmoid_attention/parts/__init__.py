"""What the studies of this paper are made of: models, experiments, rules of claims, figures."""
