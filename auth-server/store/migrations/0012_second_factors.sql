CREATE TABLE "auth"."recovery_codes" (
	"user_id" uuid NOT NULL,
	"code_hash" text NOT NULL,
	CONSTRAINT "recovery_codes_user_id_code_hash_pk" PRIMARY KEY("user_id","code_hash")
);
--> statement-breakpoint
CREATE TABLE "auth"."second_factor_failures" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"failures" integer NOT NULL,
	"failed_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "auth"."second_factors" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"secret_sealed" text,
	"used_step" bigint,
	"credential_id" text,
	"public_key" text,
	"signatures" bigint,
	"transports" text[],
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "second_factors_credential_id" UNIQUE("credential_id"),
	CONSTRAINT "second_factors_material" CHECK (case "auth"."second_factors"."kind" when 'totp' then "auth"."second_factors"."secret_sealed" is not null and "auth"."second_factors"."used_step" is not null else "auth"."second_factors"."credential_id" is not null and "auth"."second_factors"."public_key" is not null and "auth"."second_factors"."signatures" is not null end)
);
--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD COLUMN "second_factor" text;--> statement-breakpoint
ALTER TABLE "auth"."principal_change_counter" ADD COLUMN "second_factor_roles" text[];--> statement-breakpoint
ALTER TABLE "auth"."sessions" ADD COLUMN "second_factor" text;--> statement-breakpoint
ALTER TABLE "auth"."recovery_codes" ADD CONSTRAINT "recovery_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."second_factor_failures" ADD CONSTRAINT "second_factor_failures_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."second_factors" ADD CONSTRAINT "second_factors_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "second_factors_user_id" ON "auth"."second_factors" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "second_factors_totp" ON "auth"."second_factors" USING btree ("user_id") WHERE "auth"."second_factors"."kind" = 'totp';