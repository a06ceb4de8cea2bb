"""A machine that was ordered and that nobody came to is known, whoever was expected."""

from __future__ import annotations

from unmoor.app.bookings import WASTED_MAX, Bookings

ONE, OTHER = ("shop", "web-1"), ("shop", "web-2")


def booked() -> Bookings:
    found = Bookings()
    found.order("general-a")
    found.promise({"machine/general-a": (ONE, OTHER), "node/b": (("shop", "db-0"),)})
    return found


def test_a_pod_that_is_planned_somewhere_is_promised_a_place_until_the_next_plan() -> None:
    bookings = booked()
    assert bookings.is_promised(ONE)

    bookings.promise({"machine/general-a": (OTHER,)})

    assert not bookings.is_promised(ONE)
    bookings.refuse(OTHER)
    assert not bookings.is_promised(OTHER)


def test_a_machine_is_not_used_once_all_its_pods_are_elsewhere_or_gone() -> None:
    bookings = booked()
    bookings.join("general-a", "i-a")

    assert bookings.use(ONE, "i-b") == []
    assert bookings.leave(OTHER) == ["general-a"]
    assert bookings.unused() == ["general-a"]
    assert bookings.leave(OTHER) == [], "that is told once"


def test_a_pod_that_comes_uses_it_whoever_it_is() -> None:
    bookings = booked()
    bookings.join("general-a", "i-a")

    assert bookings.use(("shop", "guest"), "i-a") == []

    assert bookings.is_used("i-a")
    assert not bookings.is_ordered("general-a")
    assert bookings.unused() == []


def test_a_node_that_had_its_pod_before_its_machine_names_it_is_used() -> None:
    bookings = booked()
    bookings.use(ONE, "i-a")
    bookings.join("general-a", "i-a")

    assert bookings.unused() == []


def test_a_pod_that_goes_with_its_node_is_not_expected_itself() -> None:
    """Its successor is: that it is gone leaves no machine over."""
    bookings = Bookings()
    bookings.use(ONE, "i-old")
    bookings.order("general-a")
    bookings.promise({"machine/general-a": (ONE,)})

    assert bookings.leave(ONE) == []


def test_a_machine_that_has_no_node_is_not_unused_yet_and_one_of_a_person_never() -> None:
    bookings = booked()
    bookings.join("by-hand", "i-c")

    assert bookings.unused() == []


def test_what_is_gone_is_forgotten() -> None:
    bookings = Bookings()

    for number in range(10 * WASTED_MAX):
        machine, node, pod = f"general-{number}", f"i-{number}", ("shop", f"web-{number}")
        bookings.order(machine)
        bookings.promise({f"machine/{machine}": (pod,)})
        bookings.join(machine, node)
        if number % 2:
            bookings.use(pod, node)
        bookings.leave(pod)
        bookings.remove(node)
        bookings.end(machine)

    assert bookings.known == WASTED_MAX
    assert bookings.unused() == sorted(
        f"general-{number}" for number in range(8 * WASTED_MAX, 10 * WASTED_MAX, 2)
    )


def test_a_machine_that_is_gone_was_still_not_used_and_one_that_never_came_up_is_no_matter() -> (
    None
):
    bookings = booked()
    bookings.order("general-b")
    bookings.join("general-a", "i-a")

    bookings.end("general-a")
    bookings.end("general-b")

    assert bookings.unused() == ["general-a"]
    assert not bookings.is_ordered("general-b")
