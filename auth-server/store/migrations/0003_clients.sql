CREATE TABLE "auth"."clients" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"first_party" boolean NOT NULL,
	"redirect_uris" text[] NOT NULL,
	"post_logout_redirect_uris" text[] NOT NULL,
	"rights" text[],
	"resource_servers" text[] NOT NULL,
	"needs_right" text,
	"require_pkce" boolean NOT NULL,
	"secret_sealed" text,
	"former_secret_sealed" text,
	"former_until" timestamp (3) with time zone,
	"public_key_pem" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "clients_name" UNIQUE("name"),
	CONSTRAINT "clients_former" CHECK (("auth"."clients"."former_secret_sealed" is null) = ("auth"."clients"."former_until" is null)),
	CONSTRAINT "clients_material" CHECK (case "auth"."clients"."kind" when 'public' then "auth"."clients"."secret_sealed" is null and "auth"."clients"."public_key_pem" is null else ("auth"."clients"."secret_sealed" is null) <> ("auth"."clients"."public_key_pem" is null) end),
	CONSTRAINT "clients_rights" CHECK ("auth"."clients"."first_party" or "auth"."clients"."rights" is not null),
	CONSTRAINT "clients_pkce" CHECK ("auth"."clients"."require_pkce" or "auth"."clients"."kind" = 'confidential')
);
--> statement-breakpoint
CREATE TABLE "auth"."consents" (
	"user_id" uuid NOT NULL,
	"client_id" uuid NOT NULL,
	"rights" text[] NOT NULL,
	"scopes" text[] NOT NULL,
	"granted_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "consents_user_id_client_id_pk" PRIMARY KEY("user_id","client_id")
);
--> statement-breakpoint
CREATE TABLE "auth"."device_requests" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_code_hash" text NOT NULL,
	"client_id" text NOT NULL,
	"rights" text[],
	"scopes" text[] NOT NULL,
	"audience" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"polled_at" timestamp (3) with time zone,
	"interval" integer NOT NULL,
	"state" text NOT NULL,
	"session_id" uuid,
	"client_address" text NOT NULL,
	CONSTRAINT "device_requests_user_code_hash" UNIQUE("user_code_hash")
);
--> statement-breakpoint
CREATE TABLE "auth"."ended_clients" (
	"id" uuid PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "auth"."users" DROP CONSTRAINT "users_password_hash";--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD COLUMN "client_id" uuid;--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD COLUMN "session_id" uuid;--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD COLUMN "rights" text[];--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD COLUMN "scopes" text[];--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD COLUMN "authenticated_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "auth"."users" ADD COLUMN "display_name" text;--> statement-breakpoint
ALTER TABLE "auth"."users" ADD COLUMN "email" text;--> statement-breakpoint
ALTER TABLE "auth"."users" ADD COLUMN "email_verified" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "auth"."consents" ADD CONSTRAINT "consents_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."consents" ADD CONSTRAINT "consents_client_id_clients_id_fk" FOREIGN KEY ("client_id") REFERENCES "auth"."clients"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "consents_client_id" ON "auth"."consents" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "device_requests_expires_at" ON "auth"."device_requests" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "ended_clients_expires_at" ON "auth"."ended_clients" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "login_families_session_id" ON "auth"."login_families" USING btree ("session_id") WHERE "auth"."login_families"."ended_at" is null;--> statement-breakpoint
ALTER TABLE "auth"."users" ADD CONSTRAINT "users_email_verified" CHECK ("auth"."users"."email" is not null or not "auth"."users"."email_verified");--> statement-breakpoint
ALTER TABLE "auth"."users" ADD CONSTRAINT "users_password_hash" CHECK ("auth"."users"."password_hash" ~ '^[$](argon2id|2[aby]|scrypt|pbkdf2-sha(1|256|512))[$]');
--> statement-breakpoint
UPDATE "auth"."rights" SET "position" = "position" + 1
  WHERE "position" > (SELECT "position" FROM "auth"."rights" WHERE "name" = 'resource-server.manage');
--> statement-breakpoint
INSERT INTO "auth"."rights" ("resource_server", "name", "description", "reads_only", "position")
  SELECT 'deals', 'client.manage', 'Manage clients that sign people in', false, "position" + 1
  FROM "auth"."rights" WHERE "name" = 'resource-server.manage' ON CONFLICT DO NOTHING;
--> statement-breakpoint
SELECT setval(pg_get_serial_sequence('auth.rights', 'position'), (SELECT max("position") FROM "auth"."rights"));
--> statement-breakpoint
UPDATE "auth"."principal_change_counter" SET "value" = "value" + 1,
  "demanding_rights" = CASE WHEN 'resource-server.manage' = ANY("demanding_rights")
    THEN array_append("demanding_rights", 'client.manage') ELSE "demanding_rights" END;
--> statement-breakpoint
UPDATE "auth"."principals" SET "change_number" = (SELECT "value" FROM "auth"."principal_change_counter")
  WHERE "username_folded" = ':catalogue';
