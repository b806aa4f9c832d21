CREATE TABLE "auth"."ended_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"ended_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "ended_tokens_user_id" ON "auth"."ended_tokens" USING btree ("user_id","expires_at");--> statement-breakpoint
CREATE INDEX "ended_tokens_expires_at" ON "auth"."ended_tokens" USING btree ("expires_at");