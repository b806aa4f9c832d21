-- As before, and notes that there is a server of release 0.1.0.
CREATE OR REPLACE FUNCTION "deals"."number_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE deals.event_counters IN EXCLUSIVE MODE;
  UPDATE deals.event_log SET former_seen_at = clock_timestamp(), former_timeline = deals.present_timeline()
  WHERE former_seen_at IS NULL OR former_seen_at < clock_timestamp() - interval '10 minutes'
    OR former_timeline <> deals.present_timeline();
  new.bucket := deals.bucket_of(new.deal_id);
  UPDATE deals.event_counters c SET count = c.count + 1 WHERE c.bucket = new.bucket RETURNING c.count INTO new.number;
  new.position := nextval('deals.events_position_seq');
  RETURN new;
END $$;
