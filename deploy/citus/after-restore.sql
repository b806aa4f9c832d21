-- After a restore of all nodes to one restore point, in the database of the coordinator, before a deal server starts.
-- The coordinator may have slices of events that a worker has not: they are cut to what is there. Positions of what is
-- lost are not given again.
begin;
create temporary table counted on commit drop as select bucket, count from deals.event_counters;
delete from deals.event_slices s using counted c where s.bucket = c.bucket and s.upto - s.total >= c.count;
update deals.event_slices s
set last_position = s.last_position - (s.upto - c.count), total = s.total - (s.upto - c.count), upto = c.count
from counted c where s.bucket = c.bucket and s.upto > c.count;
update deals.sliced_counters s set upto = c.count from counted c where s.bucket = c.bucket and s.upto > c.count;
commit;
