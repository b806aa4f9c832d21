CREATE TABLE "auth"."api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"username_folded" text NOT NULL,
	"kind" text NOT NULL,
	"name" text,
	"secret_sealed" text,
	"public_key_pem" text,
	"require_body_hash" boolean NOT NULL,
	"rights" text[],
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"tokens_expire_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_material" CHECK (case "auth"."api_keys"."kind" when 'hmac' then "auth"."api_keys"."secret_sealed" is not null and "auth"."api_keys"."public_key_pem" is null else "auth"."api_keys"."public_key_pem" is not null and "auth"."api_keys"."secret_sealed" is null end)
);
--> statement-breakpoint
CREATE TABLE "auth"."audit_entries" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"actor" text,
	"action" text NOT NULL,
	"target" text,
	"outcome" text NOT NULL,
	"scheme" text,
	"address" text,
	"request_id" text,
	"key_id" text NOT NULL,
	"mac" text NOT NULL,
	CONSTRAINT "audit_entries_seq" CHECK ("auth"."audit_entries"."seq" >= 1)
);
--> statement-breakpoint
CREATE TABLE "auth"."audit_head" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"count" bigint DEFAULT 0 NOT NULL,
	"mac" text DEFAULT '' NOT NULL,
	CONSTRAINT "audit_head_single" CHECK ("auth"."audit_head"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "auth"."digest_counts" (
	"nonce" text PRIMARY KEY NOT NULL,
	"highest" integer NOT NULL,
	"used" bigint NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "digest_counts_highest" CHECK ("auth"."digest_counts"."highest" >= 1)
);
--> statement-breakpoint
CREATE TABLE "auth"."digest_secrets" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"username_folded" text NOT NULL,
	"ha1_sealed" text NOT NULL,
	"userhash" text NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "digest_secrets_userhash" UNIQUE("userhash")
);
--> statement-breakpoint
CREATE TABLE "auth"."sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"key_hash" text NOT NULL,
	"user_id" uuid NOT NULL,
	"username_folded" text NOT NULL,
	"generation" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"client_address" text,
	"user_agent" text,
	"ended_at" timestamp (3) with time zone,
	"ended_reason" text,
	CONSTRAINT "sessions_key_hash" UNIQUE("key_hash"),
	CONSTRAINT "sessions_ended" CHECK (("auth"."sessions"."ended_at" is null) = ("auth"."sessions"."ended_reason" is null))
);
--> statement-breakpoint
CREATE TABLE "auth"."used_signatures" (
	"key_id" text NOT NULL,
	"signature" text NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "used_signatures_pkey" PRIMARY KEY("key_id","signature")
);
--> statement-breakpoint
DROP INDEX "auth"."login_families_expires_at";--> statement-breakpoint
ALTER TABLE "auth"."api_keys" ADD CONSTRAINT "api_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."api_keys" ADD CONSTRAINT "api_keys_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."digest_secrets" ADD CONSTRAINT "digest_secrets_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."digest_secrets" ADD CONSTRAINT "digest_secrets_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."sessions" ADD CONSTRAINT "sessions_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_user_id" ON "auth"."api_keys" USING btree ("user_id","created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_all" ON "auth"."api_keys" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_revoked" ON "auth"."api_keys" USING btree ("revoked_at") WHERE "auth"."api_keys"."revoked_at" is not null;--> statement-breakpoint
CREATE INDEX "digest_counts_expires_at" ON "auth"."digest_counts" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sessions_user_id" ON "auth"."sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expires_at" ON "auth"."sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "used_signatures_expires_at" ON "auth"."used_signatures" USING btree ("expires_at");--> statement-breakpoint
INSERT INTO "auth"."audit_head" DEFAULT VALUES;