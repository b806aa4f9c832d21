-- Each client of pgbench holds and unholds its own deal; each command has an id. Each statement is one commit.
-- The variables `first` and `n` are set from outside.
\set deal :first + :client_id
\set n :n + 2
select hold_deal(('00000000-0000-7000-8000-' || lpad(to_hex((:deal)::bigint), 12, '0'))::uuid, true,
  'The customer asked for time', (:deal)::text || '-' || (:n)::text);
select hold_deal(('00000000-0000-7000-8000-' || lpad(to_hex((:deal)::bigint), 12, '0'))::uuid, false,
  null, (:deal)::text || '-' || (:n + 1)::text);
