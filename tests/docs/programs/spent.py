"""How many cents each customer spent, of a file of orders."""

import sys


def spent(path):
    sums = {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
        for line in lines:
            customer, cents = line.split(",")[:2]
            sums[customer] = sums.get(customer, 0) + int(cents)
    return sums


for customer, cents in sorted(spent(sys.argv[1]).items()):
    print(customer, cents)
