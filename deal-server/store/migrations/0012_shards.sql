CREATE TABLE "deals"."command_reservations" (
	"principal_id" text NOT NULL,
	"command_id" text NOT NULL,
	"deal_id" uuid NOT NULL,
	"use_case" text NOT NULL,
	"fingerprint" text NOT NULL,
	CONSTRAINT "command_reservations_pkey" PRIMARY KEY("principal_id","command_id")
);
--> statement-breakpoint
CREATE TABLE "deals"."shard_place" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"shard" integer NOT NULL,
	"shards" integer NOT NULL,
	CONSTRAINT "shard_place_has_one_row" CHECK ("deals"."shard_place"."only"),
	CONSTRAINT "shard_place_range" CHECK ("deals"."shard_place"."shard" between 0 and "deals"."shard_place"."shards" - 1)
);
--> statement-breakpoint
-- Runs one statement on a shard and answers its rows as JSON. "statement" is a text for format(): %1$L stands for the
-- first of "parameters", a JSON array of texts and nulls. In a database that leads to shards, PL/Proxy has a function of
-- this name and sends the call to shard number "shard" (docs/sharding.md); here, the number is of no meaning.
CREATE FUNCTION "deals"."on_shard"(shard int, statement text, parameters text) RETURNS SETOF json
LANGUAGE plpgsql SET timezone = 'UTC' AS $$
DECLARE
  found record;
BEGIN
  FOR found IN EXECUTE format(statement, VARIADIC ARRAY(SELECT json_array_elements_text(parameters::json))) LOOP
    RETURN NEXT to_json(found);
  END LOOP;
END $$;
