"""Names of attributes and columns in spans: OpenInference, OpenTelemetry for GenAI, Phoenix, TruLens."""

from __future__ import annotations

from karat.core.columns.ids import SPAN_IDS, TRACE_IDS

SPAN_ID = (*SPAN_IDS, "spanId", "trace.span_id")
TRACE_ID = (*TRACE_IDS, "traceId", "trace.trace_id")
PARENT_ID = ("parent_id", "parent_span_id", "parentSpanId", "trace.parent_id", "record.parent_span_id")
START_TIME = ("start_time", "startTimeUnixNano", "start_timestamp", "start_time_unix_nano")
IDENTITY = (*SPAN_ID, *TRACE_ID, *PARENT_ID, *START_TIME, "span_kind")
"""Paths from the row. All others are paths within the attributes."""

INPUT = ("input.value", "ai.observability.record_root.input")
OUTPUT = ("output.value", "ai.observability.record_root.output", "ai.observability.call.return")
QUERY = ("gen_ai.retrieval.query.text", "ai.observability.retrieval.query_text", "reranker.query")
INPUT_MESSAGES = ("llm.input_messages", "gen_ai.input.messages", "gen_ai.prompt")
OUTPUT_MESSAGES = ("llm.output_messages", "gen_ai.output.messages", "gen_ai.completion")
DOCUMENTS = ("retrieval.documents", "reranker.output_documents", "gen_ai.retrieval.documents")
PASSAGES = ("ai.observability.retrieval.retrieved_contexts",)
KIND = ("openinference.span.kind", "gen_ai.operation.name", "ai.observability.span_type")
LISTS = (*INPUT_MESSAGES, *OUTPUT_MESSAGES, *DOCUMENTS, *PASSAGES)
ATTRIBUTES = (*INPUT, *OUTPUT, *QUERY, *KIND, *LISTS)

ROLE = ("message.role", "role")
CONTENT = ("message.content", "content")
PARTS = ("message.contents", "contents", "parts")
PART_TYPE = ("message_content.type", "type")
PART = ("message_content.text", "text", "content")
DOCUMENT = ("document.content", "content", "text", "page_content")
DOCUMENT_ID = ("document.id", "id")
DOCUMENT_SCORE = ("document.score", "score")

KINDS = (
    *("LLM", "CHAIN", "RETRIEVER", "AGENT", "TOOL", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT"),
    *("DECISION", "UNKNOWN"),
)
KIND_SYNONYMS = {
    **dict.fromkeys(("CHAT", "TEXT_COMPLETION", "GENERATE_CONTENT", "GENERATION"), "LLM"),
    **dict.fromkeys(("RETRIEVAL", "RETRIEVE"), "RETRIEVER"),
    **dict.fromkeys(("EMBEDDINGS",), "EMBEDDING"),
    **dict.fromkeys(("EXECUTE_TOOL",), "TOOL"),
    **dict.fromkeys(("CREATE_AGENT", "INVOKE_AGENT"), "AGENT"),
    **dict.fromkeys(("INVOKE_WORKFLOW", "RECORD_ROOT"), "CHAIN"),
    "RERANKING": "RERANKER",
}
"""OpenInference's names for the kinds of spans of the other conventions."""
