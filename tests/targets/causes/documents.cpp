/*
 * documents: parses one document after the other and drops each. Their nodes hold each other:
 * a parent its children, and a child its parent. Names of elements are few, and kept.
 */
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pace.h"

namespace dom {

struct Node : std::enable_shared_from_this<Node> {
	std::string name;
	std::shared_ptr<Node> parent; /* should be weak */
	std::vector<std::shared_ptr<Node>> children;

	explicit Node(std::string name) : name(std::move(name)) {}

	Node &append(const std::string &child_name)
	{
		auto child = std::make_shared<Node>(child_name); /* the cause */

		child->parent = shared_from_this();
		children.push_back(std::move(child));
		return *children.back();
	}
};

/* Names are kept once each, for good: there are not many. */
class Names {
public:
	const std::string &of(int number)
	{
		auto found = names_.find(number % 300);

		if (found == names_.end())
			found = names_.emplace(number % 300, "an-element-name-of-some-length").first;
		return found->second;
	}

private:
	std::unordered_map<int, std::string> names_;
};

std::size_t parse(Names &names, int number)
{
	auto root = std::make_shared<Node>("document");
	std::vector<std::string_view> attributes;

	attributes.reserve(60);
	for (int i = 0; i < 60; i++) {
		Node &row = root->append(names.of(number + i));

		row.append(names.of(i));
		attributes.push_back(names.of(number * 10 + i));
	}
	return root->children.size() + attributes.size();
}

}

int main()
{
	dom::Names names;
	std::size_t rows = 0;
	Pace pace(300);

	for (int i = 0; i < 300; i++) {
		rows += dom::parse(names, i);
		pace.wait();
	}
	std::printf("%zu rows, %ld ms late\n", rows, pace.late_ms());
	return 0;
}
