ALTER TABLE "auth"."api_keys" ADD COLUMN "confirmed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
-- Keys of users who have a second factor already, or whose role demanded one at the last start, go on. All others are
-- suspended as soon as their owner has or needs a factor.
UPDATE "auth"."api_keys" k SET "confirmed" = true FROM "auth"."users" u
WHERE u."id" = k."user_id" AND (
  EXISTS (SELECT 1 FROM "auth"."second_factors" s WHERE s."user_id" = u."id")
  OR u."roles" && coalesce((SELECT c."second_factor_roles" FROM "auth"."principal_change_counter" c LIMIT 1), '{}'));
