CREATE TABLE "deals"."digest_counts" (
	"nonce" text PRIMARY KEY NOT NULL,
	"highest" integer NOT NULL,
	"used" bigint NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "digest_counts_highest" CHECK ("deals"."digest_counts"."highest" >= 1)
);
--> statement-breakpoint
CREATE TABLE "deals"."used_signatures" (
	"key_id" text NOT NULL,
	"signature" text NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "used_signatures_pkey" PRIMARY KEY("key_id","signature")
);
--> statement-breakpoint
ALTER TABLE "deals"."commands" ADD COLUMN "signature" text;--> statement-breakpoint
CREATE INDEX "digest_counts_expires_at" ON "deals"."digest_counts" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "used_signatures_expires_at" ON "deals"."used_signatures" USING btree ("expires_at");