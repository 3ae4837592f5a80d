/*
 * gateway: answers requests. Routes are built at the start, answers are in a cache that evicts,
 * sessions end - and the journal of every event is kept for ever.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pace.h"

namespace gateway {

using Handler = std::function<std::string(const std::string &)>;

/* Bounded: the answer that was used least recently goes. */
template <typename Key, typename Value> class Cache {
public:
	explicit Cache(std::size_t limit) : limit_(limit) {}

	const Value &get(const Key &key, const std::function<Value(const Key &)> &make)
	{
		auto found = index_.find(key);

		if (found != index_.end()) {
			order_.splice(order_.begin(), order_, found->second);
			return found->second->second;
		}
		if (index_.size() >= limit_) {
			index_.erase(order_.back().first);
			order_.pop_back();
		}
		order_.emplace_front(key, make(key));
		index_[key] = order_.begin();
		return order_.front().second;
	}

private:
	std::size_t limit_;
	std::list<std::pair<Key, Value>> order_;
	std::unordered_map<Key, typename std::list<std::pair<Key, Value>>::iterator> index_;
};

struct Event {
	std::uint64_t session, when;
	std::string what;
	char payload[160];

	Event(std::uint64_t session, std::uint64_t when, std::string what)
		: session(session), when(when), what(std::move(what)), payload{}
	{
	}
};

class Journal {
public:
	void note(std::uint64_t session, std::uint64_t when, const std::string &what)
	{
		auto event = std::make_shared<Event>(session, when, what); /* the cause */

		by_session_[session].push_back(event);
	}

private:
	std::unordered_map<std::uint64_t, std::vector<std::shared_ptr<Event>>> by_session_;
};

struct Session {
	std::map<std::string, std::string> headers;
	std::vector<char> buffer;
};

class Gateway {
public:
	Gateway() : answers_(500)
	{
		for (int i = 0; i < 4000; i++) {
			std::string path = "/api/v2/of/the/shop/items/" + std::to_string(i);

			routes_[path] = [path](const std::string &query) { return path + "?" + query; };
		}
	}

	void serve(std::uint64_t number)
	{
		std::uint64_t id = number % 64;
		std::string path = "/api/v2/of/the/shop/items/" + std::to_string(number % 4000);
		auto &session = sessions_[id];

		if (!session)
			session = std::make_shared<Session>();
		session->headers["content-type-of-request"] = "application/json; charset=utf-8";
		session->buffer.resize(4096 + number % 512);
		answers_.get(path, [&](const std::string &key) {
			return routes_.at(key)(std::string(600, 'q'));
		});
		journal_.note(id, number, path);
		if (number % 7 == 0)
			sessions_.erase(id);
	}

private:
	std::unordered_map<std::string, Handler> routes_;
	Cache<std::string, std::string> answers_;
	std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_;
	Journal journal_;
};

}

int main()
{
	auto gateway = std::make_unique<gateway::Gateway>();
	Pace pace(500);

	for (std::uint64_t i = 0; i < 500; i++) {
		for (std::uint64_t j = 0; j < 60; j++)
			gateway->serve(i * 60 + j);
		pace.wait();
	}
	std::printf("30000 requests, %ld ms late\n", pace.late_ms());
	std::fflush(stdout);
	_Exit(0); /* as a service that is stopped: what it has it keeps */
}
