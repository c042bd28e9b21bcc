SELECT * FROM process_results
