"""Ten questions worth asking a database, for docs/storage.md, the Data tab and anyone's own start."""

from __future__ import annotations

#: Title -> one SELECT. A test asks each of them.
QUERIES: dict[str, str] = {
    "How often each rule accepted what it tested": """\
SELECT rule, count(*) AS sessions, sum(accepted) AS accepted, sum(positions_tested) AS positions_tested,
       round(1.0 * sum(accepted) / sum(positions_tested), 3) AS per_position_acceptance
FROM sessions GROUP BY rule ORDER BY per_position_acceptance DESC""",
    "Rounds in which nothing was accepted": """\
SELECT session_id, json_extract(body, '$.index') AS round, json_extract(body, '$.tokens') AS drafted
FROM events WHERE type = 'round' AND json_extract(body, '$.n_accepted') = 0""",
    "What each session emitted, as bytes in hexadecimal": """\
SELECT session_id, group_concat(piece, '') AS emitted
FROM (SELECT e.session_id, hex(p.bytes) AS piece
      FROM events e
      JOIN json_each(e.body, '$.emitted') AS token
      JOIN sessions s ON s.id = e.session_id
      JOIN pieces p ON p.tokenizer = s.tokenizer AND p.id = token.value
      WHERE e.type = 'round' ORDER BY e.session_id, e.seq, token.key)
GROUP BY session_id""",
    "The rows that cost most, and how many sessions share each": """\
SELECT r.hash, length(r.probs) / 8 AS tokens, r.tail, count(*) AS sessions
FROM rows r JOIN row_uses u ON u.hash = r.hash
GROUP BY r.hash ORDER BY length(r.probs) DESC LIMIT 10""",
    "Rules side by side on the same prompt and seed, the second against its parent's": """\
SELECT parent.id AS session, child.id AS rerun, parent.rule, child.rule AS other,
       round(1.0 * parent.emitted / parent.rounds, 3) AS tokens_per_pass,
       round(1.0 * child.emitted / child.rounds, 3) AS other_tokens_per_pass
FROM sessions child JOIN sessions parent ON parent.id = child.parent_id
WHERE child.relation = 'rerun' AND child.rounds > 0 AND parent.rounds > 0 ORDER BY child.id""",
    "Acceptance by depth, the i-th draft of a round among those that were tested": """\
SELECT t.key + 1 AS depth, count(*) AS tested, sum(t.key < json_extract(body, '$.n_accepted')) AS accepted
FROM events, json_each(body, '$.tokens') t
WHERE events.type = 'round' AND t.key <= json_extract(body, '$.n_accepted')
GROUP BY depth ORDER BY depth""",
    "How many drafts a round accepted, session by session": """\
SELECT session_id, json_extract(body, '$.n_accepted') AS accepted, count(*) AS rounds
FROM events WHERE type = 'round' GROUP BY session_id, accepted ORDER BY session_id, accepted""",
    "Where the time went, in milliseconds": """\
SELECT session_id, round(sum(json_extract(body, '$.times.draft')), 1) AS draft,
       round(sum(json_extract(body, '$.times.target')), 1) AS target,
       round(sum(json_extract(body, '$.times.judge')), 1) AS judge
FROM events WHERE type = 'round' GROUP BY session_id ORDER BY session_id""",
    "Near misses, coins that fell within .02 of what decided them": """\
SELECT session_id, json_extract(body, '$.index') AS round, c.key AS draft,
       json_extract(c.value, '$[1]') AS u, json_extract(c.value, '$[0]') AS accept_prob
FROM events, json_each(body, '$.checks') c
WHERE events.type = 'round' AND abs(json_extract(c.value, '$[1]') - json_extract(c.value, '$[0]')) < .02
ORDER BY abs(u - accept_prob)""",
    "The tree of sessions, children under their parents": """\
WITH RECURSIVE tree(id, depth, path) AS (
  SELECT id, 0, printf('%08d', id) FROM sessions WHERE parent_id IS NULL
  UNION ALL
  SELECT s.id, depth + 1, path || printf('/%08d', s.id) FROM sessions s JOIN tree ON s.parent_id = tree.id)
SELECT substr('                    ', 1, 2 * depth) || s.id AS session, coalesce(relation, 'run') AS relation,
       branch_at, rule, seed, status, imported IS NOT NULL AS imported
FROM tree JOIN sessions s ON s.id = tree.id ORDER BY path""",
}
