// Names of functions where there is little room.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fitted, lastWord, shorter, withoutParameters } from "../../../web/src/names";
import { patternOf } from "../../../web/src/frame/whose";

test("parameters go, and what looks like them stays", () => {
	for (const [name, short] of [
		["f(int) const", "f"],
		["a::(anonymous namespace)::f(std::vector<int>)", "a::(anonymous namespace)::f"],
		["A::operator()(int) const", "A::operator()"],
		["main::{lambda(int)#1}", "main::{lambda(int)#1}"],
		["std::function<void (int)>::call(int)", "std::function<void (int)>::call"],
		["main", "main"],
		["(inlined)", "(inlined)"],
	] as const)
		assert.equal(withoutParameters(name), short);
});

test("then what it is in, then the arguments of its templates", () => {
	assert.deepEqual(shorter("net::http::Session::Session(std::string const&)"), [
		"net::http::Session::Session(std::string const&)",
		"net::http::Session::Session",
		"Session::Session",
	]);
	assert.deepEqual(shorter("gw::Cache<std::string, a::B<int>>::insert(int)").slice(2), [
		"Cache<std::string, a::B<int>>::insert",
		"Cache<\u2026>::insert",
	]);
	assert.deepEqual(shorter("0xa5780 [libstdc++.so.6+0xa5780]"), ["libstdc++.so.6+0xa5780", "0xa5780"]);
	assert.deepEqual(shorter("malloc"), ["malloc"]);
	for (const [name, last] of [
		["pipeline::make_cycle", "make_cycle"],
		["Window<\u2026>::accept<\u2026>", "accept<\u2026>"],
		["main::{lambda#2}", "{lambda#2}"],
		["Row::~Row", "~Row"],
		["main", "main"],
		["A::operator()", "A::operator()"],
		["get<a<b<c<d::e>>>>", "get<a<b<c<d::e>>>>"],
	] as const)
		assert.equal(lastWord(name), last);
	assert.deepEqual(shorter("<img src=x>"), ["<img src=x>"]);
});

test("a pattern is a function without its return type, parameters and arguments of templates", () => {
	for (const [name, pattern] of [
		["handle(int)", "handle"],
		["void a::T<int, b>::f(int) const", "a::T<*>::f"],
		["a::(anonymous namespace)::f(int)", "a::(anonymous namespace)::f"],
		["A::operator()(int)", "A::operator()"],
		["main::{lambda(int)#1}::operator()(int) const", "main::{lambda*"],
		["f[abi:cxx11](int)", "f?abi:cxx11]"],
		["zmalloc", "zmalloc"],
	] as const)
		assert.equal(patternOf(name), pattern);
});

test("as much of a name as there is room for", () => {
	const name = "v8::internal::Isolate::Init(v8::internal::SnapshotData*)";
	assert.equal(fitted(name, 100), name);
	assert.equal(fitted(name, 30), "v8::internal::Isolate::Init");
	assert.equal(fitted(name, 16), "Isolate::Init");
	assert.equal(fitted(name, 8), "Isolate\u2026");
	assert.equal(fitted("0x7c240 [libz.so.1+0x7c240]", 100), "libz.so.1+0x7c240");
	assert.equal(fitted("0x7c240 [libz.so.1+0x7c240]", 20), "libz.so.1+0x7c240");
	assert.equal(fitted("0x7c240 [libz.so.1+0x7c240]", 12), "0x7c240");
	assert.equal(fitted(name, 3), "");
	assert.equal(fitted("ab", 2), "ab");
});
