-- Drops what builds between two releases kept for deals on several databases. A webhook that had places in these goes
-- on from its position, 0: it misses no event of this database.
DROP FUNCTION "deals"."on_shard"(int, text, text);
--> statement-breakpoint
DROP TABLE "deals"."command_reservations";
--> statement-breakpoint
DROP TABLE "deals"."shard_place";
--> statement-breakpoint
ALTER TABLE "deals"."webhooks" DROP COLUMN "places";
