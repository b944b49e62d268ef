"""What a study claims: reading results, estimates, rules and verdicts."""
