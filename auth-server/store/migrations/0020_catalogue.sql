CREATE TABLE "auth"."rights" (
	"name" text PRIMARY KEY NOT NULL,
	"resource_server" text NOT NULL,
	"description" text NOT NULL,
	"reads_only" boolean NOT NULL,
	"position" integer GENERATED ALWAYS AS IDENTITY (sequence name "auth"."rights_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"since" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "rights_name_form" CHECK ("auth"."rights"."name" ~ '^[a-z0-9-]+([.][a-z0-9-]+)+$')
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
	"position" integer GENERATED ALWAYS AS IDENTITY (sequence name "auth"."roles_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
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
ALTER TABLE "auth"."login_families" ADD COLUMN "audience" text;--> statement-breakpoint
ALTER TABLE "auth"."principal_change_counter" ADD COLUMN "demanding_roles" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "auth"."principal_change_counter" ADD COLUMN "demanding_rights" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "auth"."sessions" ADD COLUMN "audience" text;--> statement-breakpoint
ALTER TABLE "auth"."rights" ADD CONSTRAINT "rights_resource_server_resource_servers_id_fk" FOREIGN KEY ("resource_server") REFERENCES "auth"."resource_servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth"."services" ADD CONSTRAINT "services_resource_server_resource_servers_id_fk" FOREIGN KEY ("resource_server") REFERENCES "auth"."resource_servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "rights_resource_server" ON "auth"."rights" USING btree ("resource_server");--> statement-breakpoint
CREATE INDEX "services_resource_server" ON "auth"."services" USING btree ("resource_server");--> statement-breakpoint
INSERT INTO "auth"."resource_servers" ("id", "audience", "name", "created_at", "updated_at") VALUES ('deals', 'deals', 'Keyhold', now(), now());--> statement-breakpoint
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
	('deals', 'resource-server.manage', 'Manage resource servers and their services', false);--> statement-breakpoint
INSERT INTO "auth"."roles" ("name", "description", "rights", "created_at", "updated_at") VALUES
	('viewer', 'Reads deals and their history', ARRAY['deal.read', 'deal.history.read'], now(), now()),
	('agent', 'Works on deals', ARRAY['deal.read', 'deal.history.read', 'deal.create', 'deal.rename', 'deal.change-price', 'deal.change-completion-date', 'deal.hold', 'deal.unhold', 'deal.assign-owner', 'deal.task.add', 'deal.task.assign', 'deal.task.complete'], now(), now()),
	('manager', 'Works on deals, ends and restores them', ARRAY['deal.read', 'deal.history.read', 'deal.create', 'deal.rename', 'deal.change-price', 'deal.change-completion-date', 'deal.hold', 'deal.unhold', 'deal.assign-owner', 'deal.task.add', 'deal.task.assign', 'deal.task.complete', 'deal.complete', 'deal.cancel', 'deal.reopen', 'deal.delete', 'deal.restore', 'task.read-any'], now(), now()),
	('admin', 'Has all rights', ARRAY[]::text[], now(), now());--> statement-breakpoint
WITH "n" AS (UPDATE "auth"."principal_change_counter" SET "value" = "value" + 1 RETURNING "value")
INSERT INTO "auth"."principals" ("username_folded", "username", "user_id", "change_number") SELECT ':catalogue', ':catalogue', gen_random_uuid(), "value" FROM "n";
