SELECT * FROM health_samples
