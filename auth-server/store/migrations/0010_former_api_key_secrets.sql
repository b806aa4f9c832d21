ALTER TABLE "auth"."api_keys" ADD COLUMN "former_secret_sealed" text;--> statement-breakpoint
ALTER TABLE "auth"."api_keys" ADD COLUMN "former_public_key_pem" text;--> statement-breakpoint
ALTER TABLE "auth"."api_keys" ADD COLUMN "former_until" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "api_keys_expiring" ON "auth"."api_keys" USING btree ("expires_at") WHERE "auth"."api_keys"."revoked_at" is null;