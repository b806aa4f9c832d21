CREATE TABLE "deals"."webhook_attempts" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"webhook_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"type" text NOT NULL,
	"deal_id" uuid,
	"attempt" integer NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"outcome" text NOT NULL,
	"status" integer,
	"reason" text
);
--> statement-breakpoint
CREATE TABLE "deals"."webhook_blocked" (
	"webhook_id" uuid NOT NULL,
	"deal_id" uuid NOT NULL,
	"sequence" integer NOT NULL,
	"attempts" integer NOT NULL,
	"next_attempt_at" timestamp(3) with time zone NOT NULL,
	"since" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "webhook_blocked_pkey" PRIMARY KEY("webhook_id","deal_id")
);
--> statement-breakpoint
CREATE TABLE "deals"."webhooks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"types" jsonb NOT NULL,
	"deals" jsonb NOT NULL,
	"description" text,
	"state" text NOT NULL,
	"paused_reason" text,
	"paused_at" timestamp(3) with time zone,
	"pause_reported" boolean NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"responsible" text NOT NULL,
	"responsible_user_id" text NOT NULL,
	"sees_deleted" boolean NOT NULL,
	"secret" text NOT NULL,
	"former_secret" text,
	"former_secret_until" timestamp(3) with time zone,
	"revision" integer NOT NULL,
	"position" bigint NOT NULL,
	"failures" integer NOT NULL,
	"last_success_at" timestamp(3) with time zone,
	"last_failure_at" timestamp(3) with time zone,
	"last_failure_status" integer,
	"last_failure_reason" text,
	"held_until" timestamp(3) with time zone,
	"lease_owner" uuid,
	"lease_until" timestamp(3) with time zone,
	CONSTRAINT "webhooks_state" CHECK ("deals"."webhooks"."state" in ('active', 'paused')),
	CONSTRAINT "webhooks_paused_has_reason" CHECK (("deals"."webhooks"."state" = 'paused') = ("deals"."webhooks"."paused_reason" is not null))
);
--> statement-breakpoint
ALTER TABLE "deals"."webhook_attempts" ADD CONSTRAINT "webhook_attempts_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "deals"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deals"."webhook_blocked" ADD CONSTRAINT "webhook_blocked_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "deals"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "webhook_attempts_of_webhook" ON "deals"."webhook_attempts" USING btree ("webhook_id","id");--> statement-breakpoint
CREATE INDEX "webhook_attempts_by_time" ON "deals"."webhook_attempts" USING btree ("at");