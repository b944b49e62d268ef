"""CompeteSMoE: routing by competition, its likelihood theory and its training algorithm."""
