-- Makes the database of DEAL_DATABASE_URL lead to shards by Citus (docs/sharding.md#citus). The shards are databases of
-- the same name on the workers. All have the migrations of the deal server, and the extension citus that was created
-- after them. A superuser runs this, with the address of the coordinator, and those of the workers in the order of
-- their shards:
--   psql -v coordinator=10.0.0.1:5432 -v workers=10.0.0.10:5432,10.0.0.11:5432 -v ON_ERROR_STOP=1 \
--     -f deploy/citus/lead.sql postgres://postgres@10.0.0.1/deals
set citus.enable_ddl_propagation = on;
create temporary table worker as
  select ordinality::int - 1 as shard, split_part(address, ':', 1) as host, split_part(address, ':', 2)::int as port
  from unnest(string_to_array(:'workers', ',')) with ordinality as w(address, ordinality);
select citus_set_coordinator_host(split_part(:'coordinator', ':', 1), split_part(:'coordinator', ':', 2)::int);
select citus_add_node(host, port) from worker order by shard;

-- Citus sends a call to the worker that has the row of its first argument. This table has no rows. It has so many parts
-- that no two numbers of shards are in one, and each number's part is moved to the worker of its shard.
create table if not exists deals.shard_numbers (shard int primary key);
select set_config('citus.shard_count', min(parts)::text, false) from (
    select 2 ^ power as parts from generate_series(1, 15) power
    where (select count(*) from worker) =
      (select count(distinct floor((worker_hash(shard)::bigint + 2147483648) / 2 ^ (32 - power))) from worker)
  ) enough;
select create_distributed_table('deals.shard_numbers', 'shard', colocate_with := 'none')
where not exists (select from pg_dist_partition where logicalrelid = 'deals.shard_numbers'::regclass);
select citus_move_shard_placement(p.shardid, p.nodename, p.nodeport, w.host, w.port, 'block_writes')
from worker w join pg_dist_shard_placement p
  on p.shardid = get_shard_id_for_distribution_column('deals.shard_numbers', w.shard)
where (p.nodename, p.nodeport) <> (w.host, w.port);

-- The function of the migrations, and a check: where Citus does not send a call on, it runs here, and must do nothing.
create or replace function deals.on_shard(shard int, statement text, parameters text) returns setof json
language plpgsql set timezone = 'UTC' as $$
declare
  found record;
begin
  if not exists (select from deals.shard_place p where p.shard = on_shard.shard) then
    raise exception using errcode = 'XX000', message = format('this database is not shard %s', shard);
  end if;
  for found in execute format(statement, variadic array(select json_array_elements_text(parameters::json))) loop
    return next to_json(found);
  end loop;
end $$;
select create_distributed_function(
  'deals.on_shard(int, text, text)', 'shard', colocate_with := 'deals.shard_numbers', force_delegation := true);

-- Later migrations are applied to each database by itself.
select format('alter database %I set citus.enable_ddl_propagation = off', current_database()) as statement \gset
:statement;
select success, result from run_command_on_workers(:'statement');
