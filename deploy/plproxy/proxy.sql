-- Makes the database of DEAL_DATABASE_URL lead to two shards by PL/Proxy (docs/sharding.md). It has the migrations of the
-- deal server. A superuser runs this, with the connection strings of the shards in the order of their numbers:
--   psql -v role=deals -v password=… -v p0='host=10.0.0.10 dbname=deals' -v p1='host=10.0.0.11 dbname=deals' \
--     -v ON_ERROR_STOP=1 -1 -f deploy/plproxy/proxy.sql postgres://postgres@10.0.0.1/deals
-- For more shards, a power of two, add p2, p3 and so on to the server below.
create schema if not exists plproxy;
create extension if not exists plproxy;

drop server if exists deal_shards cascade;
create server deal_shards foreign data wrapper plproxy
  options (connection_lifetime '1800', p0 :'p0', p1 :'p1');
create user mapping for :"role" server deal_shards options (user :'role', password :'password');
grant usage on foreign server deal_shards to :"role";

create or replace function deals.on_shard(shard int, statement text, parameters text) returns setof json
language plproxy as $$
  cluster 'deal_shards';
  run on shard;
  target deals.on_shard;
$$;
