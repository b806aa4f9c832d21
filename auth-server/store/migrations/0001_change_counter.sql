INSERT INTO "auth"."principal_change_counter" DEFAULT VALUES;
