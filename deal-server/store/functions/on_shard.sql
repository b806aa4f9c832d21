-- Runs one statement on a shard and answers its rows as JSON. "statement" is a text for format(): %1$L stands for the
-- first of "parameters", a JSON array of texts and nulls. In a database that leads to shards, PL/Proxy has a function of
-- this name and sends the call to shard number "shard" (docs/sharding.md); here, the number is of no meaning.
CREATE OR REPLACE FUNCTION "deals"."on_shard"(shard int, statement text, parameters text) RETURNS SETOF json
LANGUAGE plpgsql SET timezone = 'UTC' AS $$
DECLARE
  found record;
BEGIN
  FOR found IN EXECUTE format(statement, VARIADIC ARRAY(SELECT json_array_elements_text(parameters::json))) LOOP
    RETURN NEXT to_json(found);
  END LOOP;
END $$;
