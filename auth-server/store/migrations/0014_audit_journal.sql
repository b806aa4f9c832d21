CREATE TABLE "auth"."audit_journal" (
	"position" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "auth"."audit_journal_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"writer" uuid NOT NULL,
	"number" bigint NOT NULL,
	"entry" json NOT NULL,
	"key_id" text NOT NULL,
	"mac" text NOT NULL,
	CONSTRAINT "audit_journal_of_writer" UNIQUE("writer","number")
);
--> statement-breakpoint
CREATE TABLE "auth"."audit_writers" (
	"writer" uuid PRIMARY KEY NOT NULL,
	"number" bigint NOT NULL,
	"mac" text NOT NULL
);
