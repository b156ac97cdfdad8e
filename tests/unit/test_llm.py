"""The client of a language model, against an endpoint on this machine that misbehaves."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from pathrag_gds.config import Endpoint
from pathrag_gds.errors import ConfigError, LLMError, MissingExtra
from pathrag_gds.models.llm import LLM, ChatClient, ChatOptions
from tests.endpoint import (
    ScriptedEndpoint,
    Step,
    breaks_off,
    events,
    refuses,
    sends,
    serving,
    stalls,
    streams,
    whole,
)

KEY = "sk-geheim-123"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
PATIENT = ChatOptions(read_s=5.0)
HASTY = ChatOptions(read_s=0.2, retries=0)


class Waits:
    """Stands where sleep stands and notes the seconds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def client(
    endpoint: ScriptedEndpoint,
    options: ChatOptions = PATIENT,
    sleep: Callable[[float], None] | None = None,
) -> ChatClient:
    return ChatClient(
        Endpoint(endpoint.base_url, "tiny", KEY), options=options, sleep=sleep or Waits()
    )


def said(llm: LLM, *, stream: bool = True) -> tuple[list[str], str]:
    """Give the pieces and why the answer ended."""
    pieces = []
    chat = llm.chat(MESSAGES, stream=stream)
    while True:
        try:
            pieces.append(next(chat))
        except StopIteration as end:
            return pieces, end.value


def failure(llm: LLM, *, stream: bool = True) -> tuple[list[str], LLMError]:
    """Give the pieces that came before the error, and the error."""
    pieces: list[str] = []
    with pytest.raises(LLMError) as caught:
        pieces.extend(llm.chat(MESSAGES, stream=stream))
    assert KEY not in f"{caught.value}{caught.value!r}{caught.value.__cause__!r}"
    return pieces, caught.value


def test_a_stream_is_yielded_piece_by_piece() -> None:
    with serving(streams("In ", "the ", "kit\u2028chen. 🐈")) as endpoint:
        assert said(client(endpoint)) == (["In ", "the ", "kit\u2028chen. 🐈"], "stop")
    (asked,) = endpoint.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "tiny",
        "messages": MESSAGES,
        "stream": True,
        "temperature": 0.0,
    }


def test_an_answer_in_one_piece() -> None:
    with serving(whole("In the kitchen.", finish="length")) as endpoint:
        assert said(client(endpoint), stream=False) == (["In the kitchen."], "length")
    assert endpoint.asked[0].body["stream"] is False


def test_an_endpoint_may_send_the_other_form_than_it_was_asked_for() -> None:
    with serving(whole("One."), streams("T", "wo.")) as endpoint:
        llm = client(endpoint)
        assert said(llm) == (["One."], "stop")
        assert said(llm, stream=False) == (["T", "wo."], "stop")


def test_what_carries_no_text_is_passed_over() -> None:
    usage = json.dumps({"choices": [], "usage": {"total_tokens": 9}})
    thought = json.dumps({"choices": [{"delta": {"content": None, "reasoning": "hm"}}]})
    body = f": hello\r\n\r\nevent: x\r\n\r\ndata: {thought}\r\n\r\ndata:{usage}\n\n{events('Yes.')}"
    with serving(sends(body, content_type="Text/Event-Stream; charset=utf-8")) as endpoint:
        assert said(client(endpoint)) == (["Yes."], "stop")


@pytest.mark.parametrize("end", [{"finish": None}, {"done": False}])
def test_one_of_the_two_ends_of_a_stream_is_enough(end: dict[str, Any]) -> None:
    with serving(streams("Yes.", **end)) as endpoint:
        assert said(client(endpoint))[0] == ["Yes."]


def test_without_a_key_none_is_sent() -> None:
    with serving(streams("Yes.")) as endpoint:
        assert said(ChatClient(Endpoint(f"{endpoint.base_url}/", "tiny")))[0] == ["Yes."]
    assert "Authorization" not in endpoint.asked[0].headers
    assert endpoint.asked[0].path == "/v1/chat/completions"


def test_text_without_a_form_in_utf8_is_sent_as_an_escape() -> None:
    with serving(streams("Yes.")) as endpoint:
        assert list(client(endpoint).chat([{"role": "user", "content": "a\ud800b"}])) == ["Yes."]
    assert endpoint.asked[0].body["messages"][0]["content"] == "a\ud800b"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_what_may_pass_is_asked_again(status: int, caplog: pytest.LogCaptureFixture) -> None:
    waits = Waits()
    refusal = refuses(status, f"busy, {KEY}")
    with (
        caplog.at_level(logging.DEBUG),
        serving(refusal, refusal, refusal, streams("Yes.")) as endpoint,
    ):
        assert said(client(endpoint, sleep=waits)) == (["Yes."], "stop")
    assert len(endpoint.asked) == 4
    assert waits.seconds == [0.5, 1.0, 2.0]
    assert f"answered {status}: busy, …. Asked again in 2.0 s." in caplog.text
    assert KEY not in caplog.text


def test_retry_after_goes_before_the_back_off() -> None:
    waits = Waits()
    date = formatdate(time.time() + 20, usegmt=True)
    script = (
        refuses(429, Retry_After="0.25"),
        refuses(503, Retry_After=date),
        refuses(503, Retry_After="soon"),
        streams("Yes."),
    )
    with serving(*script) as endpoint:
        assert said(client(endpoint, sleep=waits))[0] == ["Yes."]
    assert waits.seconds[0] == 0.25
    assert 15 < waits.seconds[1] <= 20
    assert waits.seconds[2] == 2.0


def test_an_endpoint_that_asks_for_a_long_wait_is_not_asked_again() -> None:
    with serving(refuses(429, "slow down", Retry_After="3600")) as endpoint:
        _, error = failure(client(endpoint))
    assert len(endpoint.asked) == 1
    assert error.status == 429
    assert error.hint == "It asks to wait 3600 s."


def test_the_tries_end() -> None:
    with serving(refuses(500, "out of order")) as endpoint:
        _, error = failure(client(endpoint, ChatOptions(retries=2)))
    assert len(endpoint.asked) == 3
    assert error.message == (
        f"The language model 'tiny' at {endpoint.base_url} answered 500: out of order. "
        "It was asked 3 times."
    )
    assert (error.status, error.exit_code) == (500, 7)


def test_a_used_up_quota_is_not_asked_again() -> None:
    told = {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}
    with serving(sends(json.dumps(told), status=429)) as endpoint:
        _, error = failure(client(endpoint))
    assert len(endpoint.asked) == 1
    assert "answered 429: You exceeded your quota." in error.message


@pytest.mark.parametrize(
    ("step", "message", "hint"),
    [
        (refuses(401, f"Incorrect key {KEY}"), "401: Incorrect key …", "PATHRAG_LLM_API_KEY"),
        (refuses(403), "answered 403.", "OPENAI_API_KEY"),
        (sends('{"detail": "Not Found"}', status=404), "404: Not Found", "often ends in /v1"),
        (sends('{"error": "no such model"}', status=404), "404: no such model", "LLM_MODEL"),
        (refuses(400, "context\n\x1b[31m too long"), "context \ufffd[31m too long", "--budget"),
        (sends("<p>Away</p>", status=307, headers={"Location": "/x"}), "307: <p>Away</p>", ""),
        (sends("x" * 9000, status=418), "answered 418: " + "x" * 200 + "…", ""),
        (sends("[" * 3000, status=422), "answered 422: [[[[", ""),
        (sends(b"\xff\xfe", status=422), "answered 422: \ufffd\ufffd", ""),
    ],
)
def test_a_refusal_says_what_happened_and_what_to_do(step: Step, message: str, hint: str) -> None:
    with serving(step) as endpoint:
        _, error = failure(client(endpoint))
    assert len(endpoint.asked) == 1
    assert message in error.message
    assert error.message.startswith(f"The language model 'tiny' at {endpoint.base_url} answered ")
    assert hint in error.hint
    assert error.hint.strip() == error.hint


def test_a_model_that_takes_no_temperature_is_asked_without() -> None:
    refusal = refuses(400, "Unsupported value: 'temperature' does not support 0 with this model.")
    with serving(refusal, streams("Yes.")) as endpoint:
        assert said(client(endpoint, HASTY))[0] == ["Yes."]
    assert "temperature" not in endpoint.asked[1].body
    with serving(refusal) as endpoint:
        _, error = failure(client(endpoint, HASTY))
    assert len(endpoint.asked) == 2
    assert error.status == 400


def test_silence_before_the_first_word_is_survived() -> None:
    waits = Waits()
    with serving(stalls(), streams("Yes.")) as endpoint:
        options = ChatOptions(read_s=0.2, retries=1)
        assert said(client(endpoint, options, waits))[0] == ["Yes."]
    assert len(endpoint.asked) == 2
    assert waits.seconds == [0.5]


def test_silence_that_lasts_is_an_error() -> None:
    with serving(stalls()) as endpoint:
        pieces, error = failure(client(endpoint, HASTY))
    assert pieces == []
    assert "was silent for 0.2 s." in error.message


def test_silence_after_the_first_word_ends_the_answer() -> None:
    with serving(stalls("In the ", "kit")) as endpoint:
        pieces, error = failure(client(endpoint, ChatOptions(read_s=0.2)))
    assert pieces == ["In the ", "kit"]
    assert len(endpoint.asked) == 1
    assert "did not finish its answer: it was silent for 0.2 s." in error.message


def test_comments_do_not_keep_a_request_alive_for_ever() -> None:
    with serving(stalls("In", comments=True)) as endpoint:
        options = ChatOptions(read_s=5.0, time_limit_s=0.3)
        began = time.monotonic()
        pieces, error = failure(client(endpoint, options))
    assert pieces == ["In"]
    assert "was not done within 0.3 s." in error.message
    assert time.monotonic() - began < 3


def test_no_try_begins_after_the_time_limit() -> None:
    with serving(stalls()) as endpoint:
        _, error = failure(client(endpoint, ChatOptions(time_limit_s=0.2, backoff_s=0.0)))
    assert len(endpoint.asked) == 1
    assert "was not done within 0.2 s." in error.message


def test_a_broken_connection_before_the_first_word_is_survived() -> None:
    waits = Waits()
    with serving(breaks_off(), streams(finish=None, done=False), streams("Yes.")) as endpoint:
        assert said(client(endpoint, sleep=waits))[0] == ["Yes."]
    assert waits.seconds == [0.5, 1.0]


@pytest.mark.parametrize(
    "step", [breaks_off("In the "), streams("In the ", finish=None, done=False)]
)
def test_a_connection_that_closes_midway_is_an_error(step: Step) -> None:
    with serving(step) as endpoint:
        pieces, error = failure(client(endpoint))
    assert pieces == ["In the "]
    assert len(endpoint.asked) == 1
    assert "did not finish its answer: it " in error.message
    assert error.hint == "Ask again; what came is incomplete."
    assert error.status == 0


def test_an_error_in_the_stream() -> None:
    body = events("In", finish=None, done=False) + 'data: {"error": {"message": "overloaded"}}\n\n'
    with serving(sends(body, content_type="text/event-stream")) as endpoint:
        pieces, error = failure(client(endpoint))
    assert pieces == ["In"]
    assert "broke off: overloaded" in error.message


@pytest.mark.parametrize(
    "data",
    [
        '{"choices": [{"delta": {"content": "In',
        "<html>",
        "null",
        '"text"',
        "[]",
        "{}",
        '{"choices": 3}',
        '{"choices": ["x"]}',
        '{"choices": [{"delta": {"content": ["x"]}}]}',
        '{"choices": [{"delta": {"content": "x"}, "finish_reason": 3}]}',
        "[" * 100_000,
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_broken_json_is_an_error(data: str, streamed: bool) -> None:
    body = f"data: {data}\n\n" if streamed else data
    kind = "text/event-stream" if streamed else "application/json"
    with serving(sends(body, content_type=kind)) as endpoint:
        pieces, error = failure(client(endpoint), stream=streamed)
    assert pieces == []
    assert len(endpoint.asked) == 1
    assert f"sent what is no chat completion: {data[:200]!r}"[:200] in error.message
    assert "PATHRAG_LLM_BASE_URL" in error.hint


def test_broken_json_in_the_middle_ends_the_answer() -> None:
    body = events("In", finish=None, done=False) + "data: {oops\n\n"
    with serving(sends(body, content_type="text/event-stream")) as endpoint:
        pieces, error = failure(client(endpoint))
    assert pieces == ["In"]
    assert "'{oops'" in error.message


def test_an_event_without_end_is_cut_off() -> None:
    body = "data: " + "x" * 2_000_000
    with serving(sends(body, content_type="text/event-stream")) as endpoint:
        _, error = failure(client(endpoint, HASTY))
    assert "exceeded" in error.message


@pytest.mark.parametrize("stream", [True, False])
def test_an_empty_answer_is_an_error(stream: bool) -> None:
    step = streams(finish="length") if stream else whole("", finish="length")
    with serving(step) as endpoint:
        _, error = failure(client(endpoint), stream=stream)
    assert "gave an empty answer (it ended with 'length')" in error.message


def test_nobody_listens() -> None:
    with serving(streams("Yes.")) as endpoint:
        pass
    waits = Waits()
    _, error = failure(client(endpoint, sleep=waits))
    assert waits.seconds == [0.5, 1.0, 2.0]
    assert f"at {endpoint.base_url} cannot be reached: " in error.message
    assert error.hint == "Is it running, and is PATHRAG_LLM_BASE_URL right?"


def test_closing_the_generator_ends_the_request() -> None:
    with serving(stalls("In", comments=True)) as endpoint:
        chat = client(endpoint).chat(MESSAGES)
        assert next(chat) == "In"
        chat.close()
        assert endpoint.hung_up.wait(5)
    assert list(chat) == []


def test_an_interrupt_ends_the_request() -> None:
    with serving(stalls("In", comments=True)) as endpoint:
        chat = client(endpoint).chat(MESSAGES)
        next(chat)
        with pytest.raises(KeyboardInterrupt):
            chat.throw(KeyboardInterrupt())
        assert endpoint.hung_up.wait(5)


def test_nothing_is_sent_before_the_first_piece_is_wanted() -> None:
    with serving(streams("Yes.")) as endpoint:
        client(endpoint).chat(MESSAGES).close()
    assert endpoint.asked == []


def test_the_key_is_not_shown() -> None:
    endpoint = Endpoint("http://127.0.0.1:1/v1/", "tiny", f" {KEY}\n")
    llm = ChatClient(endpoint)
    assert endpoint.api_key == KEY
    assert repr(llm) == "ChatClient(Endpoint(base_url='http://127.0.0.1:1/v1', model='tiny'))"
    assert llm.name == "tiny"


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingExtra) as caught:
        ChatClient(Endpoint("http://127.0.0.1:1/v1", "tiny"))
    assert caught.value.hint == 'Run: pip install "pathrag-gds[llm]"'


@pytest.mark.parametrize(
    "options",
    [
        {"read_s": 0},
        {"connect_s": -1},
        {"time_limit_s": float("nan")},
        {"retries": -1},
        {"temperature": -0.1},
        {"backoff_s": -1},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=f"{name} must be "):
        ChatOptions(**options)
