"""The words of generated code in lower case: what names of schemas may meet.

Made by `python -m ecsgen.render.reserved`; a test says when it has to be made again.
"""

from __future__ import annotations

from typing import Final

OWN_WORDS: Final = """
a abc about above above_roots abs absolute absolute_int64 accelerator accessor accessor_line
accessor_lines accessors acos active activedata add add_int64 add_many add_newest add_newest_rows
added addresses admit admit_one after again against aiter aliases alive alive_keys alive_many all
all_rows allocate allocated already also among an and anew anext annotations another answer any
any_id any_of any_row any_row_line anyrow append append_cold append_cold_rows append_many appended
appended_many appended_one apply arange arccos archetype archetypechunk archetypes archetypestore
archetypeworld arcsin arctan2 are are_moved args argument arguments arithmetic arithmeticerror
array array_type arrayfield arraylike arrays arrays_line arrive as as_cell as_dict as_int64
as_integers as_uint64 ascii asin asked asked_many asked_one asking asks assert assertion
assertionerror assign assign_lines assign_values assigned assigned_lines assignment astype at
at_most at_most_unsigned atan2 atleast atleast_1d attached attribute attributeerror attributes
averaged axis b back backend base baseexception baseexceptiongroup bases be be_shard before
beginning behind belong belongs below beside between bin binary binary_logarithm bits block
blocking blockingioerror blocks blocks_of body bool boolfield borrowed borrowed_one bound box
boxblocks break breakpoint bring broadcast broadcast_line broadcast_to broken brokenpipe
brokenpipeerror buffer buffererror build build_class builtins bulk bundle bundles but by by_entity
by_id bytearray bytes bytesfield byteswarning c call callable callback callbacks called caller
calling calls can can_grow capacity capacityerror case cases cases_class cast ceil cell cell_of
cell_type cellmessages cells cells_at cells_now chance change changes check check_row
check_unchanged check_value checked checked_fields checked_line checked_lines checked_radius
checked_value checked_value_line checks child childprocess childprocesserror choose choosing chosen
chosen_blocks chosencells chosenrows chr chunk chunk_bytes chunk_kernels chunk_queries chunkarray
chunkbase chunkblocks chunkcells chunkcolumns chunked chunkedpart chunkedt chunkfield chunkproxy
chunks chunks_body chunks_decorator chunks_header chunkvalue class class_name classes classmethod
classvar clause close close_many close_one closest code cold cold_capacity cold_columns
cold_default cold_defaults cold_row cold_row_cells cold_struct coldarray colddata coldrows
collecting collection collections column columns columns_lines come comes comment comparison
compile compiled compiledbulk compiledsharded compiledshardedbulk compiles complex component
component_import componentflags components conftest connection connectionaborted
connectionabortederror connectionerror connectionrefused connectionrefusederror connectionreset
connectionreseterror constant constants construction context contextlib contextmanager continue
conversions converted converter converter_arguments converter_class converters copied copied_from
copies copy copyright cos cosh count count_nonzero counts create create_below create_children
create_many created created_below created_many credits cross crosses cumsum current cut cut_body
cut_items cut_parameters cut_signature cut_text d data data_methods data_settings dead debug
declared decorator deeper def default default_bytes default_cell default_constant default_lines
default_of default_scalars defaults defaults_line del delattr deprecation deprecationwarning
destroy destroy_row destroy_rows destroy_told dict dict_of die differs dir direct direct_id
direct_ids directid directidrows directids directrows disjunction dispatch displaces distance
distinct divide divmod do doc docs does dot doubling draw draw_key draw_stems drawing draws drop
drop_cold drop_cold_row drop_cold_rows drop_oldest drop_row dst dtype duplicate duplicate_instance
duplicateinstance duplicateinstanceerror duplicatevalue duplicatevalueerror e e402 e_minus each
each_lines each_value ecsgen ecsgen_runtime element elements elif ellipsis else emitter empty
encoding encodingwarning end end_below end_without endcall endfor endif endmacro ends ensure enter
enter_value enter_values entities entity entity_cells entity_column entity_view entityarray
entitymanager entityproxy entityview entityviewbase entityworld entries entry enum enumerate
enumfield enums environment environmenterror eoferror equal equals equals_unsigned errstate es eval
every evict evict_one example except exception exceptiongroup exec exists exit exp expand
expand_many expand_one export exported extract f f32 f64 failures false family familyrows fast
feature fffffep127 fffffffffffffp1023 field field_columns field_info fields fieldtable fifty file
fileexists fileexistserror filenot filenotfound filenotfounderror fill fill_parts filled
filled_world filter final find find_line find_many find_spec fingerprint finite first first_child
first_child_cells first_child_column first_generation fit flag flags flat flat_cells flat_columns
float float32 floatfield floating floatingpoint floatingpointerror floor floor_divide folded follow
follow_cold follow_cold_rows follow_row followed for for_numba forget forget_value forget_values
format former found free from front front_class frontcolumns frozenset full function functions
further fuse fused fused_views future futurewarning g gathered gc generated generation
generation_bits generations generator generatorexit get getattr getitem ghosts ghosts_near give
give_slot give_slots given given_line giventable gives globals go goes gone good greater
greater_equal greatest greatest_of group grouped groupeddata groupedrows groupmember groups grow
grown grown_map growth had half handle handle_mask handlefield handlelayout handles has has_border
has_cells has_chunks has_create has_create_many has_manager hasattr hash haunt haunted
haunted_search haunted_space hauntedspace have head head_many header heard held heldmessages help
here hex hidden hidden_rows hierarchy high hold holders holds holds_objects hole holes hot how
hypot hypothesis i i64 id id_generation id_generation_cells id_generation_column id_keys id_of
id_row id_row_cells id_row_column id_slot id_slot_cells id_slot_column id_stem id_stem_of idarray
idproxy idrows ids ids_of if ignore import imported importerror importlib imports imports_marker
importwarning imum in inactive include indent indentation indentationerror index index0 index_bits
index_count index_mask indexerror indexes indices indirect indirectrows inf infos infos_lines init
input insert install installed instance instances int int64 intenum interface interrupted
interruptederror intfield intflag into intp ioerror is is_alive is_clean is_cold is_exact is_folded
is_heard is_named is_object is_open is_packed is_plain is_quiet is_same is_same_view is_tag is_worn
is_worn_out isadirectory isadirectoryerror isinstance issubclass it item items iter iterable
iterator its j j2 join join_group join_group_many joined joined_given joined_rows joined_search
joined_turn joined_turn_given joinedblocks joinedcolumn joinedrows joinedt joining joinpath k keep
kept kernel kernel_arguments kernel_blocks kernel_reductions kernelrows kernels kernels_numba
kernels_numpy key key_lines keyboard keyboardinterrupt keyerror keys keywords kind kinds know
largest last last_generation last_handle layout layout_arguments layout_cold layout_lines
layout_table lazy lazy_names leads least least_of leave leave_group leave_parent leaving led left
left_cold len length less less_equal less_than less_than_unsigned let let_die level levelblocks
levelfield levels license lie lies like line lines link link_row linked linkedrows list lists
literal living living_id living_id_rows living_keys living_place living_rows living_table ljust
load loader local locals locked locks log log10 log2 logical logical_and logical_not logical_or
lookup lookuperror loop looped loops low lower lstrip m machine machine_class macro made made_by
main make make_room make_way makes managed managedpart manager managers manual many many_type map
mapping mask match matches matching matrix max maximum may mean meet member members memory
memoryerror memoryview messages method methods min min_free minimum minus misc model module
modulenot modulenotfound modulenotfounderror modules moduletype more most move move_lines move_many
move_row move_rows move_to moved moved_many moved_one moves multiply multiply_int64 n n_active
n_grouped na naive name named namedtuple nameerror names naming nan ndarray near near_cells
near_given near_now nearblocks nearcolumn nearest nearsearch need needed needs neg negated negative
neighbours nested never new newer newest next next_generation next_generations next_sibling
next_sibling_cells next_sibling_column next_slots nil no no_mask none none_of noqa norm normal
normalize not not_equal notadirectory notadirectoryerror nothing notimplemented notimplementederror
now np null null_entity numba number numbers numpy o object object_fields objectfield objects
objects_line oct of of_each of_library of_one offset older oldest once one one_generation only open
open_table operator optional or ord order orphaned orphans orphans_destroy orphans_die orphans_root
orphansdestroy orphansdie orphansroot oserror other other_cells other_names othercolumn others out
output outputs outside over overflow overflowerror overload overwrite own own_words owned
owned_children owned_spaced ownedchildren ownedfamily ownedfamilyrows ownedrows ownedspaced owner
owners owners_near p pack pack_into package package_import packages packed packed_line padded
paired pairs parallel parcel parcelbase parcelerror parent parent_cells parent_column parentfield
parents part parting partition partitioned partitionedrows parts parts_line pass path pathlib peak
pending pendingdeprecation pendingdeprecationwarning per permission permissionerror picked pickles
pip place place_lines place_many place_one placed placement places plain plan plan_again
plan_append plan_cold plan_cold_rows plan_join plan_leaving plan_lists plan_moves plan_removal
plan_removal_one planes planned policies policy pow power prange present previous previous_sibling
previous_sibling_cells previous_sibling_column print process processlookup processlookuperror
product project property protocol proxies proxy proxy_accessors proxy_base proxy_fields proxyfield
put put_cells put_where putmask py pytest pytest_pycollect pytest_pycollect_makemodule
pytest_terminal pytest_terminal_summary python q queried queriedchunks queriedrows queries query
query_class query_column querycolumn querycolumns querylist querylistmember querymatch querymember
querysparse querysparsemember quit r radius raise raised raises random range reach read read_only
readable reads recursion recursionerror reduce reductions reductions_numba reductions_numpy ref
refer reference referenceerror refers refusal refuse refuse_locked release release_children
release_many release_one released relink relink_family relink_row remainder remember remove removed
removed_many removing removing_many removing_one renames render replace repr require reserve
reserve_one reserved reservedrows reset reshape resolve resolve_many resource resourcewarning
result return reversed ring ringrows rint rng role room room_at room_one root round row row_at
row_bases row_bytes row_cells row_class row_columns row_default row_default_lines row_fields
row_line row_move row_slots rowarray rowcount rowfield rows rows_below rows_class rows_last rows_of
rows_of_block rows_of_living rows_spanned rstrip rules run runs runtime runtimeerror runtimewarning
s safe said same samples saving say says scalar scalar_dtype schedule schedules schema schemas
search searchsorted seed seeded seededworld seeds selectattr self send send_all senders sends sent
sequence set set_lines set_map set_value setattr setstate setter settings settled settled_many
settled_one several several_blocks shape shaped shard shard_bits sharded shardeddirect
shardeddirectid shardeddirectidrows shardeddirectids shardedentities shardedhash shardedid
shardedidrows shardedids shardedspaced shardedsparse shardedsparsemember shardedstore shardedunique
shardedworld sharderror shardlayout shards shardsbase shift sibling siblings sign sign_of signature
signed signedworld sin sinh size sizes skipped slice slot slot_bits slot_of slot_of_dst slot_of_row
slots slots_of slots_of_dst slots_of_entities slots_of_gone smallest snapshots sort sort_keys
sort_keys_lines sorted space spaced spacelayout spaces span span_of span_of_entities spare sparse
sparse_cells spawn spawned spawning spec split split_fields spread sqrt square src stale
staleentity staleentityerror staleinstance staleinstanceerror stamp stands start starts
starts_active state staticmethod stay stays stem stem_of step steps steps_lines still stop
stopasync stopasynciteration stopiteration storage store store_many store_many_lines store_new
store_picked store_picked_lines stored stored_fields str string strip struct struct_format
structural structure structurelocked structurelockederror subject subjects subtract subtract_int64
sum sum_of super support support_import sure swap swap_over swapped swapping swaps syntax
syntaxerror syntaxwarning sys system systemerror systemexit t tab taberror table table_factor
tables tag tag_class tagged tags take take_cold take_cold_row take_others take_slot take_slots
taken taken_many taken_one takes takes_rows tan tanh target tell templates test test_archetypes
test_entities test_kernel test_one test_one_instance test_world testarchetypes testbundles testcase
testchunk testchunkkernels testchunkqueries tested testentities testentity testentityview testing
testmachine testqueries tests testsaving testschedules testseeds testshards testsignature teststeps
teststepsof teststepsofworld teststepsofworldkernels testworld testworldkernels text textfield
texts that the their theirs them then there these they this those thread through time timeout
timeouterror times tmp to together told tolist tool top total true trunc try tuple tuple_item
tuples turn turn_cells turn_given turn_order turncells turns twenty twice type type_checking
typealias typed typeddict typeerror types typevar typing u u32 u64 uint uint32 uint64 unbound
unboundlocal unboundlocalerror under under_test unicode unicodedecode unicodedecodeerror
unicodeencode unicodeencodeerror unicodeerror unicodetranslate unicodetranslateerror unicodewarning
unique unique_fields uniquequery uniquequerycolumn uniquerows unknown unknown_component unlink
unlink_row unowned unowned_children unownedchildren unpack unpack_from unpacked unpacked_line until
upper usage usageerror use used user userwarning utf util vacated vacated_many vacated_one value
valueerror values vars vendored version view viewed views visiting visiting_direct
visiting_direct_ids visiting_ids w wanted warning was way what whatever when where whether which
while who whole whole_power whom wide widesigned widesignedworld with with_descendants with_ghosts
within without word words working world world_features world_kernel world_kernel_steps
world_kernels world_kernels_numba world_kernels_numpy world_method worldfeature worn worn_out wrap
write write_type writes written x x00 x1 xffffffff xyz z z0 za zero zerodivision zerodivisionerror
zeros zip
"""
