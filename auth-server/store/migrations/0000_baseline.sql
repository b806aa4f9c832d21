CREATE SCHEMA "auth";
--> statement-breakpoint
-- The schema as release 0.3.0 left it.
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
	"former_secret_sealed" text,
	"former_public_key_pem" text,
	"former_until" timestamp (3) with time zone,
	"confirmed" boolean DEFAULT false NOT NULL,
	CONSTRAINT "api_keys_material" CHECK (case "auth"."api_keys"."kind" when 'hmac' then "auth"."api_keys"."secret_sealed" is not null and "auth"."api_keys"."public_key_pem" is null else "auth"."api_keys"."public_key_pem" is not null and "auth"."api_keys"."secret_sealed" is null end)
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
CREATE TABLE "auth"."ended_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"ended_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
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
	"second_factor" text,
	"former_rotated_at" timestamp (3) with time zone,
	"audience" text,
	CONSTRAINT "login_families_counter" CHECK ("auth"."login_families"."counter" >= 0),
	CONSTRAINT "login_families_rotated" CHECK (("auth"."login_families"."rotated_at" is null) = ("auth"."login_families"."successor_sealed" is null)),
	CONSTRAINT "login_families_ended" CHECK (("auth"."login_families"."ended_at" is null) = ("auth"."login_families"."ended_reason" is null)),
	CONSTRAINT "login_families_expiry" CHECK ("auth"."login_families"."refresh_expires_at" <= "auth"."login_families"."expires_at")
);
--> statement-breakpoint
CREATE TABLE "auth"."password_resets" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"code_hash" text NOT NULL,
	"generation" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "password_resets_code_hash" UNIQUE("code_hash")
);
--> statement-breakpoint
CREATE TABLE "auth"."principal_change_counter" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"value" bigint DEFAULT 0 NOT NULL,
	"installation_id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"second_factor_roles" text[],
	"demanding_roles" text[] DEFAULT '{}' NOT NULL,
	"demanding_rights" text[] DEFAULT '{}' NOT NULL,
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
	"second_factor" text,
	"audience" text,
	CONSTRAINT "sessions_key_hash" UNIQUE("key_hash"),
	CONSTRAINT "sessions_ended" CHECK (("auth"."sessions"."ended_at" is null) = ("auth"."sessions"."ended_reason" is null))
);
--> statement-breakpoint
CREATE TABLE "auth"."used_signatures" (
	"key_id" text NOT NULL,
	"signature" text NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	"used_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "used_signatures_pkey" PRIMARY KEY("key_id","signature")
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
	"made_by_demo" boolean DEFAULT false NOT NULL,
	CONSTRAINT "users_username_folded" UNIQUE("username_folded"),
	CONSTRAINT "users_username_form" CHECK ("auth"."users"."username" ~ '^[A-Za-z0-9._@-]{1,64}$'),
	CONSTRAINT "users_username_fold" CHECK ("auth"."users"."username_folded" = lower("auth"."users"."username" collate "C")),
	CONSTRAINT "users_password_hash" CHECK ("auth"."users"."password_hash" like '$argon2id$%')
);
--> statement-breakpoint
CREATE TABLE "auth"."rights" (
	"name" text PRIMARY KEY NOT NULL,
	"resource_server" text NOT NULL,
	"description" text NOT NULL,
	"reads_only" boolean NOT NULL,
	"position" integer GENERATED BY DEFAULT AS IDENTITY (sequence name "auth"."rights_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"since" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "rights_name_form" CHECK ("auth"."rights"."name" ~ '^[a-z0-9-]+([.][a-z0-9-]+)+(:own)?$')
);
--> statement-breakpoint
CREATE TABLE "auth"."resource_servers" (
	"id" text PRIMARY KEY NOT NULL,
	"audience" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "resource_servers_audience" UNIQUE("audience"),
	CONSTRAINT "resource_servers_id_form" CHECK ("auth"."resource_servers"."id" ~ '^[a-z0-9][a-z0-9-]{0,62}$')
);
--> statement-breakpoint
CREATE TABLE "auth"."roles" (
	"name" text PRIMARY KEY NOT NULL,
	"description" text NOT NULL,
	"rights" text[] NOT NULL,
	"position" integer GENERATED BY DEFAULT AS IDENTITY (sequence name "auth"."roles_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"since" bigint DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "roles_name_form" CHECK ("auth"."roles"."name" ~ '^[a-z0-9][a-z0-9._-]{0,62}$')
);
--> statement-breakpoint
CREATE TABLE "auth"."services" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"resource_server" text NOT NULL,
	"secret_sealed" text NOT NULL,
	"former_secret_sealed" text,
	"former_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "services_former" CHECK (("auth"."services"."former_secret_sealed" is null) = ("auth"."services"."former_until" is null))
);
--> statement-breakpoint
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
CREATE TABLE "auth"."audit_archive" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"count" bigint DEFAULT 0 NOT NULL,
	"mac" text DEFAULT '' NOT NULL,
	"month" text DEFAULT '' NOT NULL,
	"key_id" text DEFAULT '' NOT NULL,
	"seal" text DEFAULT '' NOT NULL,
	CONSTRAINT "audit_archive_single" CHECK ("auth"."audit_archive"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "auth"."audit_archived_once" (
	"action" text NOT NULL,
	"target" text NOT NULL,
	CONSTRAINT "audit_archived_once_action_target_pk" PRIMARY KEY("action","target")
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
	"count" integer DEFAULT 1 NOT NULL,
	"reason" text,
	"writer" uuid,
	"writer_first" bigint,
	"writer_last" bigint,
	"writer_mac" text,
	CONSTRAINT "audit_entries_seq" CHECK ("auth"."audit_entries"."seq" >= 1)
) PARTITION BY RANGE ("seq");
--> statement-breakpoint
CREATE TABLE "auth"."audit_head" (
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL,
	"count" bigint DEFAULT 0 NOT NULL,
	"mac" text DEFAULT '' NOT NULL,
	CONSTRAINT "audit_head_single" CHECK ("auth"."audit_head"."id" = 1)
);
--> statement-breakpoint
CREATE TABLE "auth"."audit_journal" (
	"position" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "auth"."audit_journal_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"entry" json NOT NULL
);
--> statement-breakpoint
ALTER TABLE "auth"."api_keys" ADD CONSTRAINT "api_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."api_keys" ADD CONSTRAINT "api_keys_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."digest_secrets" ADD CONSTRAINT "digest_secrets_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."digest_secrets" ADD CONSTRAINT "digest_secrets_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD CONSTRAINT "login_families_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."login_families" ADD CONSTRAINT "login_families_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."password_resets" ADD CONSTRAINT "password_resets_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."sessions" ADD CONSTRAINT "sessions_username_folded_principals_username_folded_fk" FOREIGN KEY ("username_folded") REFERENCES "auth"."principals"("username_folded") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."rights" ADD CONSTRAINT "rights_resource_server_resource_servers_id_fk" FOREIGN KEY ("resource_server") REFERENCES "auth"."resource_servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."services" ADD CONSTRAINT "services_resource_server_resource_servers_id_fk" FOREIGN KEY ("resource_server") REFERENCES "auth"."resource_servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."recovery_codes" ADD CONSTRAINT "recovery_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."second_factor_failures" ADD CONSTRAINT "second_factor_failures_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."second_factors" ADD CONSTRAINT "second_factors_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "auth"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_user_id" ON "auth"."api_keys" USING btree ("user_id","created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_all" ON "auth"."api_keys" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_revoked" ON "auth"."api_keys" USING btree ("revoked_at") WHERE "auth"."api_keys"."revoked_at" is not null;--> statement-breakpoint
CREATE INDEX "api_keys_expiring" ON "auth"."api_keys" USING btree ("expires_at") WHERE "auth"."api_keys"."revoked_at" is null;--> statement-breakpoint
CREATE INDEX "digest_counts_expires_at" ON "auth"."digest_counts" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "ended_tokens_user_id" ON "auth"."ended_tokens" USING btree ("user_id","expires_at");--> statement-breakpoint
CREATE INDEX "ended_tokens_expires_at" ON "auth"."ended_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "login_families_user_id" ON "auth"."login_families" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "login_families_ended" ON "auth"."login_families" USING btree ("user_id","tokens_expire_at") WHERE "auth"."login_families"."ended_at" is not null;--> statement-breakpoint
CREATE INDEX "login_families_expired" ON "auth"."login_families" USING btree ((case when ended_at is null then greatest(tokens_expire_at, refresh_expires_at) else tokens_expire_at end));--> statement-breakpoint
CREATE INDEX "password_resets_expires_at" ON "auth"."password_resets" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "principals_change_number" ON "auth"."principals" USING btree ("change_number");--> statement-breakpoint
CREATE INDEX "principals_user_id" ON "auth"."principals" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_user_id" ON "auth"."sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_ended" ON "auth"."sessions" USING btree ("user_id","expires_at") WHERE "auth"."sessions"."ended_at" is not null;--> statement-breakpoint
CREATE INDEX "sessions_expires_at" ON "auth"."sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "used_signatures_expires_at" ON "auth"."used_signatures" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "rights_resource_server" ON "auth"."rights" USING btree ("resource_server");--> statement-breakpoint
CREATE INDEX "services_resource_server" ON "auth"."services" USING btree ("resource_server");--> statement-breakpoint
CREATE INDEX "second_factors_user_id" ON "auth"."second_factors" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "second_factors_totp" ON "auth"."second_factors" USING btree ("user_id") WHERE "auth"."second_factors"."kind" = 'totp';--> statement-breakpoint
CREATE INDEX "audit_entries_actor" ON "auth"."audit_entries" USING btree (lower("actor" collate "C"),"seq") WHERE "auth"."audit_entries"."actor" is not null;--> statement-breakpoint
CREATE INDEX "audit_entries_target" ON "auth"."audit_entries" USING btree (lower("target" collate "C"),"seq") WHERE "auth"."audit_entries"."target" is not null;--> statement-breakpoint
CREATE INDEX "audit_entries_action" ON "auth"."audit_entries" USING btree ("action" collate "C","seq");--> statement-breakpoint
CREATE INDEX "audit_entries_refused" ON "auth"."audit_entries" USING btree ("outcome","seq") WHERE "auth"."audit_entries"."outcome" <> 'succeeded';--> statement-breakpoint
CREATE INDEX "audit_entries_at" ON "auth"."audit_entries" USING btree ("at","seq");
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "auth"."refuse_audit_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	-- The trigger below decides about deletions, by the deleted rows.
	IF TG_OP = 'DELETE' THEN
		RETURN NULL;
	END IF;
	RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION "auth"."refuse_audit_deletion"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM deleted WHERE seq > coalesce((SELECT count FROM auth.audit_archive), 0)) THEN
		RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
	END IF;
	RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "audit_entries_append_only" BEFORE UPDATE OR DELETE OR TRUNCATE ON "auth"."audit_entries" FOR EACH STATEMENT EXECUTE FUNCTION "auth"."refuse_audit_change"();
--> statement-breakpoint
CREATE TRIGGER "audit_entries_archived" AFTER DELETE ON "auth"."audit_entries" REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION "auth"."refuse_audit_deletion"();
--> statement-breakpoint
-- The partitions, in order: the number of the first entry that can be in each, and the one behind the last; null for the
-- last partition.
CREATE OR REPLACE FUNCTION "auth"."audit_partitions"() RETURNS TABLE ("name" text, "first" bigint, "behind" bigint) LANGUAGE sql STABLE AS $$
	SELECT c.relname::text, b.first::bigint, b.behind::bigint
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
		LATERAL (SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)') AS first,
			substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''(\d+)''\)') AS behind) b
	WHERE i.inhparent = 'auth.audit_entries'::regclass ORDER BY 2
$$;
--> statement-breakpoint
-- Makes a table that can become a partition.
CREATE OR REPLACE FUNCTION "auth"."create_audit_partition"("name" text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE auth.%I (LIKE auth.audit_entries INCLUDING ALL)', name);
	EXECUTE format('CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON auth.%I'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_change()', name);
	EXECUTE format('CREATE TRIGGER audit_entries_archived AFTER DELETE ON auth.%I REFERENCING OLD TABLE AS deleted'
		' FOR EACH STATEMENT EXECUTE FUNCTION auth.refuse_audit_deletion()', name);
END
$$;
--> statement-breakpoint
-- Ends the last partition behind its last entry, and begins the next one there. False when it has none. Gives up at
-- once when others have the table, so that nobody waits behind it.
CREATE OR REPLACE FUNCTION "auth"."cut_audit_entries"() RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
	part text;
	since bigint;
	behind bigint;
	successor text;
BEGIN
	LOCK TABLE ONLY auth.audit_entries IN ACCESS EXCLUSIVE MODE;
	SELECT p.name, p.first INTO STRICT part, since FROM auth.audit_partitions() p WHERE p.behind IS NULL;
	SELECT greatest(h.count, (SELECT max(seq) FROM auth.audit_entries)) + 1 INTO STRICT behind FROM auth.audit_head h;
	IF behind <= since THEN
		RETURN false;
	END IF;
	successor := format('audit_entries_from_%s', behind);
	PERFORM auth.create_audit_partition(successor);
	EXECUTE format('ALTER TABLE auth.audit_entries DETACH PARTITION auth.%I', part);
	EXECUTE format('ALTER TABLE auth.audit_entries ATTACH PARTITION auth.%I FOR VALUES FROM (%s) TO (%s)', part, since, behind);
	EXECUTE format('ALTER TABLE auth.audit_entries ATTACH PARTITION auth.%I FOR VALUES FROM (%s) TO (MAXVALUE)', successor, behind);
	RETURN true;
END
$$;
--> statement-breakpoint
SELECT "auth"."create_audit_partition"('audit_entries_from_1');
--> statement-breakpoint
ALTER TABLE "auth"."audit_entries" ATTACH PARTITION "auth"."audit_entries_from_1" FOR VALUES FROM (1) TO (MAXVALUE);
--> statement-breakpoint
-- The names that they have in databases of 0.3.0.
ALTER INDEX "auth"."audit_entries_from_1_action_seq_idx" RENAME TO "audit_entries_from_1_action";--> statement-breakpoint
ALTER INDEX "auth"."audit_entries_from_1_lower_seq_idx" RENAME TO "audit_entries_from_1_actor";--> statement-breakpoint
ALTER INDEX "auth"."audit_entries_from_1_lower_seq_idx1" RENAME TO "audit_entries_from_1_target";--> statement-breakpoint
ALTER INDEX "auth"."audit_entries_from_1_outcome_seq_idx" RENAME TO "audit_entries_from_1_refused";--> statement-breakpoint
ALTER INDEX "auth"."audit_entries_from_1_at_seq_idx" RENAME TO "audit_entries_from_1_at";
--> statement-breakpoint
INSERT INTO "auth"."principal_change_counter" ("value") VALUES (1);
--> statement-breakpoint
INSERT INTO "auth"."audit_head" DEFAULT VALUES;
--> statement-breakpoint
INSERT INTO "auth"."audit_archive" DEFAULT VALUES;
--> statement-breakpoint
INSERT INTO "auth"."resource_servers" ("id", "audience", "name", "created_at", "updated_at") VALUES ('deals', 'deals', 'Keyhold', now(), now());
--> statement-breakpoint
INSERT INTO "auth"."rights" ("resource_server", "name", "description", "reads_only") VALUES
	('deals', 'deal.read', 'Read deals', true),
	('deals', 'deal.history.read', 'Read the history of deals', true),
	('deals', 'deal.create', 'Create deals', false),
	('deals', 'deal.rename', 'Rename deals', false),
	('deals', 'deal.change-price', 'Change prices', false),
	('deals', 'deal.change-completion-date', 'Change completion dates', false),
	('deals', 'deal.hold', 'Hold deals', false),
	('deals', 'deal.unhold', 'Unhold deals', false),
	('deals', 'deal.assign-owner', 'Assign owners', false),
	('deals', 'deal.task.add', 'Add tasks', false),
	('deals', 'deal.task.assign', 'Assign tasks', false),
	('deals', 'deal.task.complete', 'Complete tasks', false),
	('deals', 'deal.complete', 'Complete deals', false),
	('deals', 'deal.cancel', 'Cancel deals', false),
	('deals', 'deal.reopen', 'Reopen deals', false),
	('deals', 'deal.delete', 'Delete deals', false),
	('deals', 'deal.restore', 'Restore deals', false),
	('deals', 'task.read-any', 'Read the tasks of all users', true),
	('deals', 'user.manage', 'Manage users and roles', false),
	('deals', 'api-key.manage', 'Manage API keys of all users', false),
	('deals', 'session.manage', 'End logins and sessions of all users', false),
	('deals', 'key.read', 'Read the state of the key ring', true),
	('deals', 'audit.read', 'Read the audit log', true),
	('deals', 'token.introspect', 'Introspect tokens', false),
	('deals', 'webhook.manage', 'Manage webhooks', false),
	('deals', 'resource-server.manage', 'Manage resource servers and their services', false),
	('deals', 'deal.read:own', 'Read own deals', true),
	('deals', 'deal.history.read:own', 'Read the history of own deals', true),
	('deals', 'deal.create:own', 'Create deals as their owner', false),
	('deals', 'deal.rename:own', 'Rename own deals', false),
	('deals', 'deal.change-price:own', 'Change prices of own deals', false),
	('deals', 'deal.change-completion-date:own', 'Change completion dates of own deals', false),
	('deals', 'deal.hold:own', 'Hold own deals', false),
	('deals', 'deal.unhold:own', 'Unhold own deals', false),
	('deals', 'deal.assign-owner:own', 'Give own deals to another owner', false),
	('deals', 'deal.task.add:own', 'Add tasks to own deals', false),
	('deals', 'deal.task.assign:own', 'Assign tasks of own deals', false),
	('deals', 'deal.task.complete:own', 'Complete own tasks', false),
	('deals', 'deal.complete:own', 'Complete own deals', false),
	('deals', 'deal.cancel:own', 'Cancel own deals', false),
	('deals', 'deal.reopen:own', 'Reopen own deals', false),
	('deals', 'deal.delete:own', 'Delete own deals', false),
	('deals', 'deal.restore:own', 'Restore own deals', false);
--> statement-breakpoint
INSERT INTO "auth"."roles" ("name", "description", "rights", "created_at", "updated_at") VALUES
	('viewer', 'Reads deals and their history', ARRAY['deal.read', 'deal.history.read'], now(), now()),
	('agent', 'Works on deals', ARRAY['deal.read', 'deal.history.read', 'deal.create', 'deal.rename', 'deal.change-price', 'deal.change-completion-date', 'deal.hold', 'deal.unhold', 'deal.assign-owner', 'deal.task.add', 'deal.task.assign', 'deal.task.complete'], now(), now()),
	('manager', 'Works on deals, ends and restores them', ARRAY['deal.read', 'deal.history.read', 'deal.create', 'deal.rename', 'deal.change-price', 'deal.change-completion-date', 'deal.hold', 'deal.unhold', 'deal.assign-owner', 'deal.task.add', 'deal.task.assign', 'deal.task.complete', 'deal.complete', 'deal.cancel', 'deal.reopen', 'deal.delete', 'deal.restore', 'task.read-any'], now(), now()),
	('admin', 'Has all rights', ARRAY[]::text[], now(), now()),
	('seller', 'Works on own deals', ARRAY['deal.read:own', 'deal.history.read:own', 'deal.create:own', 'deal.rename:own', 'deal.change-price:own', 'deal.change-completion-date:own', 'deal.hold:own', 'deal.unhold:own', 'deal.task.complete:own'], now(), now());
--> statement-breakpoint
INSERT INTO "auth"."principals" ("username_folded", "username", "user_id", "change_number") VALUES (':catalogue', ':catalogue', gen_random_uuid(), 1);
