-- Each client of pgbench holds and unholds its own deal, each with the id of a command: one commit for each statement.
\set deal :first + :client_id
select hold_deal(('00000000-0000-7000-8000-' || lpad(to_hex((:deal)::bigint), 12, '0'))::uuid, true, 'The customer asked for time', gen_random_uuid()::text);
select hold_deal(('00000000-0000-7000-8000-' || lpad(to_hex((:deal)::bigint), 12, '0'))::uuid, false, null, gen_random_uuid()::text);
