-- SHA-256, since MD5 is not there under FIPS. deal-server/store/events/bucket.ts does the same.
CREATE OR REPLACE FUNCTION "deals"."bucket_of"(id uuid) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ('x' || left(encode(sha256(uuid_send(id)), 'hex'), 4))::bit(16)::int & 1023
$$;
