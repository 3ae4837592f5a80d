/*
 * store: a server that reads commands, one on a line, and answers each. Clients subscribe to
 * channels and never fetch what is published there. The store itself is full before anybody looks,
 * and sessions expire. It says "ready" when it is.
 */
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace store {

using Reply = std::string;

class Channels {
public:
	void publish(const std::string &channel, const std::string &text)
	{
		for (auto &client : clients_[channel])
			pending_[client].push_back(channel + ":" + text); /* the cause */
	}

	void subscribe(const std::string &channel, int client) { clients_[channel].push_back(client); }

private:
	std::unordered_map<std::string, std::vector<int>> clients_;
	std::unordered_map<int, std::deque<std::string>> pending_;
};

class Store {
public:
	Store()
	{
		for (int i = 0; i < 20000; i++)
			values_["key:of:the:start:" + std::to_string(i)] = std::make_shared<std::string>(100, 'v');
		commands_["set"] = [this](std::istream &in) { return set(in); };
		commands_["publish"] = [this](std::istream &in) { return publish(in); };
		for (int client = 0; client < 4; client++)
			channels_.subscribe("news", client);
	}

	Reply run(const std::string &line)
	{
		std::istringstream in(line);
		std::string command;

		in >> command;
		auto found = commands_.find(command);
		return found == commands_.end() ? "unknown" : found->second(in);
	}

private:
	Reply set(std::istream &in)
	{
		std::string key;

		in >> key;
		values_[key] = std::make_shared<std::string>(200, 'w');
		recent_.push_back(key);
		if (recent_.size() > 1000) {
			values_.erase(recent_.front());
			recent_.pop_front();
		}
		return "stored";
	}

	Reply publish(std::istream &in)
	{
		std::string text;

		in >> text;
		channels_.publish("news", text + std::string(300, '.'));
		return "sent";
	}

	std::unordered_map<std::string, std::shared_ptr<std::string>> values_;
	std::unordered_map<std::string, std::function<Reply(std::istream &)>> commands_;
	std::deque<std::string> recent_;
	Channels channels_;
};

}

int main()
{
	store::Store store;
	std::string line;

	std::cout << "ready" << std::endl;
	while (std::getline(std::cin, line))
		std::cout << store.run(line) << std::endl;
	return 0;
}
