-- Typed outcomes of an attempt, each from its own evidence.

ALTER TABLE runs ADD COLUMN executor_result TEXT;
ALTER TABLE runs ADD COLUMN policy_result TEXT;
ALTER TABLE runs ADD COLUMN completion_result TEXT;
ALTER TABLE runs ADD COLUMN acceptance_eligible INTEGER;
ALTER TABLE runs ADD COLUMN attempt_classification TEXT;
ALTER TABLE runs ADD COLUMN score_verdict TEXT;
ALTER TABLE runs ADD COLUMN evaluation_state TEXT;

CREATE VIEW attempt_summary AS
SELECT
    attempt_classification,
    executor_result,
    completion_result,
    policy_result,
    score_verdict,
    evaluation_state,
    count(*) AS run_count,
    count(*) FILTER (WHERE acceptance_eligible = 1) AS acceptance_eligible_count
FROM runs
WHERE index_state = 'current'
GROUP BY attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state;
