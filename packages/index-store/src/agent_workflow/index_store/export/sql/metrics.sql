SELECT * FROM execution_metrics
