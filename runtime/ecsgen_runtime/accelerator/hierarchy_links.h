/* Parents, children and siblings of rows (runtime/policies/hierarchy.py). */

#ifndef ECSGEN_FAST_HIERARCHY_LINKS_H
#define ECSGEN_FAST_HIERARCHY_LINKS_H

#include "rows.h"

static inline int
has_hierarchy(const Component *plan)
{
    return plan->parent != ABSENT;
}

/* True if a row's links are as they must be, so that none leads astray. */
static inline int
are_links_sound(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    uint64_t n = change->rows->n;
    uint64_t parent = get_link(change, plan->parent, row);
    uint64_t child = get_link(change, plan->first_child, row);
    uint64_t after = get_link(change, plan->next_sibling, row);
    return get_link(change, plan->previous_sibling, row) < n && (child == NIL || child < n) &&
           (after == NIL || after < n) &&
           (parent == NIL || (parent < n && get_link(change, plan->first_child, parent) < n));
}

/* True if a row may get one more child. */
static inline int
takes_children(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    uint64_t n = change->rows->n;
    uint64_t child = row < n ? get_link(change, plan->first_child, row) : n;
    return child == NIL || (child < n && get_link(change, plan->previous_sibling, child) < n);
}

/* True if a row's children can be gone through. */
static inline int
are_children_sound(const Change *change, uint64_t row)
{
    uint64_t n = change->rows->n, count = 0;
    uint64_t child = get_link(change, change->plan->first_child, row);
    for (; child < n && count <= n; count++) {
        child = get_link(change, change->plan->next_sibling, child);
    }
    return child == NIL;
}

/* Make a row a root without children. */
static inline void
make_root(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    put_link(change, plan->parent, row, NIL);
    put_link(change, plan->next_sibling, row, NIL);
    put_link(change, plan->previous_sibling, row, row);
}

/* Append a root to the children of a row. */
static inline void
join_parent(const Change *change, uint64_t row, uint64_t parent)
{
    const Component *plan = change->plan;
    uint64_t first = get_link(change, plan->first_child, parent);
    put_link(change, plan->parent, row, parent);
    if (first == NIL) {
        put_link(change, plan->first_child, parent, row);
        return;
    }
    uint64_t last = get_link(change, plan->previous_sibling, first);
    put_link(change, plan->next_sibling, last, row);
    put_link(change, plan->previous_sibling, row, last);
    put_link(change, plan->previous_sibling, first, row);
}

/* Let a sibling come before another, or if that is NIL be the last: the first one has its number
   then. */
static inline void
put_sibling_before(const Change *change, uint64_t parent, uint64_t after, uint64_t row)
{
    const Component *plan = change->plan;
    uint64_t behind = after == NIL ? get_link(change, plan->first_child, parent) : after;
    put_link(change, plan->previous_sibling, behind, row);
}

/* Take a row out of its parent's children. */
static inline void
leave_parent(const Change *change, uint64_t row)
{
    const Component *plan = change->plan;
    uint64_t parent = get_link(change, plan->parent, row);
    uint64_t before = get_link(change, plan->previous_sibling, row);
    uint64_t after = get_link(change, plan->next_sibling, row);
    if (before == row) { /* the only one */
        put_link(change, plan->first_child, parent, NIL);
        return;
    }
    if (get_link(change, plan->next_sibling, before) == NIL) { /* the first; before it: the last */
        put_link(change, plan->first_child, parent, after);
    }
    else {
        put_link(change, plan->next_sibling, before, after);
    }
    put_sibling_before(change, parent, after, before);
}

/* Make the children of a row roots. */
static inline void
release_children(const Change *change, uint64_t row)
{
    uint64_t child = get_link(change, change->plan->first_child, row);
    while (child != NIL) {
        uint64_t after = get_link(change, change->plan->next_sibling, child);
        make_root(change, child);
        child = after;
    }
}

/* Mend the links of children, siblings and parent after row src went to dst. */
static inline void
relink_hierarchy(const Change *change, uint64_t src, uint64_t dst)
{
    const Component *plan = change->plan;
    uint64_t child = get_link(change, plan->first_child, dst), count = 0;
    for (; child < change->rows->allocated && count <= change->rows->n; count++) {
        put_link(change, plan->parent, child, dst);
        child = get_link(change, plan->next_sibling, child);
    }
    uint64_t parent = get_link(change, plan->parent, dst);
    uint64_t before = get_link(change, plan->previous_sibling, dst);
    uint64_t after = get_link(change, plan->next_sibling, dst);
    if (parent == NIL || before == src) { /* a root, or the only child */
        put_link(change, plan->previous_sibling, dst, dst);
        if (parent != NIL) {
            put_link(change, plan->first_child, parent, dst);
        }
        return;
    }
    if (get_link(change, plan->next_sibling, before) == NIL) { /* the first; before it: the last */
        put_link(change, plan->first_child, parent, dst);
    }
    else {
        put_link(change, plan->next_sibling, before, dst);
    }
    put_sibling_before(change, parent, after, dst);
}

#endif
