CREATE SCHEMA "auth";
--> statement-breakpoint
CREATE TABLE "auth"."login_families" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"username_folded" text NOT NULL,
	"generation" integer NOT NULL,
	"counter" integer DEFAULT 0 NOT NULL,
	"rotated_at" timestamp (3) with time zone,
	"successor_sealed" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"refresh_expires_at" timestamp (3) with time zone NOT NULL,
	"tokens_expire_at" timestamp (3) with time zone NOT NULL,
	"client_address" text,
	"user_agent" text,
	"ended_at" timestamp (3) with time zone,
	"ended_reason" text,
	CONSTRAINT "login_families_counter" CHECK ("auth"."login_families"."counter" >= 0),
	CONSTRAINT "login_families_rotated" CHECK (("auth"."login_families"."rotated_at" is null) = ("auth"."login_families"."successor_sealed" is null)),
	CONSTRAINT "login_families_ended" CHECK (("auth"."login_families"."ended_at" is null) = ("auth"."login_families"."ended_reason" is null)),
	CONSTRAINT "login_families_expiry" CHECK ("auth"."login_families"."refresh_expires_at" <= "auth"."login_families"."expires_at")
);
--> statement-breakpoint
CREATE TABLE "auth"."principal_change_counter" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"value" bigint DEFAULT 0 NOT NULL,
	"installation_id" uuid DEFAULT gen_random_uuid() NOT NULL,
	CONSTRAINT "principal_change_counter_single" CHECK ("auth"."principal_change_counter"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "auth"."principals" (
	"username_folded" text PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"user_id" uuid NOT NULL,
	"generation" integer DEFAULT 1 NOT NULL,
	"kept_login_id" text,
	"kept_login_generation" integer,
	"change_number" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "principals_generation" CHECK ("auth"."principals"."generation" >= 1),
	CONSTRAINT "principals_kept_login" CHECK (("auth"."principals"."kept_login_id" is null) = ("auth"."principals"."kept_login_generation" is null) and coalesce("auth"."principals"."kept_login_generation" < "auth"."principals"."generation", true))
);
--> statement-breakpoint
CREATE TABLE "auth"."users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"username_folded" text NOT NULL,
	"password_hash" text,
	"roles" text[] NOT NULL,
	"rights" text[] NOT NULL,
	"enabled" boolean NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "users_username_folded" UNIQUE("username_folded"),
	CONSTRAINT "users_username_form" CHECK ("auth"."users"."username" ~ '^[A-Za-z0-9._@-]{1,64}$'),
	CONSTRAINT "users_username_fold" CHECK ("auth"."users"."username_folded" = lower("auth"."users"."username" collate "C")),
	CONSTRAINT "users_password_hash" CHECK ("auth"."users"."password_hash" like '$argon2id$%')
);
--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD CONSTRAINT "login_families_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD CONSTRAINT "login_families_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "login_families_user_id" ON "auth"."login_families" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "login_families_ended" ON "auth"."login_families" USING btree ("user_id","tokens_expire_at") WHERE "auth"."login_families"."ended_at" is not null;--> statement-breakpoint
CREATE INDEX "login_families_expires_at" ON "auth"."login_families" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "principals_change_number" ON "auth"."principals" USING btree ("change_number");--> statement-breakpoint
CREATE INDEX "principals_user_id" ON "auth"."principals" USING btree ("user_id");