# SPDX-License-Identifier: Apache-2.0
# bash completion for reticle, driven by the program's own tables (reticle complete).

# The values of an option, of which several may stand in one word, parted by commas. The line is looked at as it
# stands, because bash parts words at colons, which names of tracepoints have.
_reticle_values()
{
	local line=${COMP_LINE:0:COMP_POINT} word head part
	local -a values

	mapfile -t values < <("${COMP_WORDS[0]}" complete "$1" "$2" 2>/dev/null)
	[[ ${#values[@]} -gt 0 ]] || return 1
	word=${line##* }
	[[ $word == --*=* ]] && word=${word#*=}
	head=${word%"${word##*[,+]}"} part=${word##*[,+]}
	mapfile -t COMPREPLY < <(compgen -P "$head" -W "${values[*]}" -- "$part")
	# What stands before the last colon or equals sign is a word of its own for bash.
	if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
		head=${word%"${word##*:}"}
		COMPREPLY=("${COMPREPLY[@]#"$head"}")
	fi
	compopt -o nospace 2>/dev/null
	return 0
}

_reticle()
{
	local cur=${COMP_WORDS[COMP_CWORD]} before='' command='' verb='' line=${COMP_LINE:0:COMP_POINT} i letter name
	local -a words=() verbs

	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			# The command that is recorded has options of its own.
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
		fi
		[[ -n $command || ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i]} == help ]] || command=${COMP_WORDS[i]}
	done
	if [[ -z $command ]]; then
		while IFS=$'\t' read -r name _; do
			words+=("$name")
		done < <("${COMP_WORDS[0]}" complete 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -W "${words[*]} help --help --version" -- "$cur")
		return
	fi
	# --event=VALUE, or the value as the next word.
	before=${line##* }
	if [[ $before == --*=* ]]; then
		name=${before%%=*}
		_reticle_values "$command" "${name#--}" && return
	elif [[ $before != -* ]]; then
		before=${line% *}
		before=${before##* }
		case $before in
		--*) _reticle_values "$command" "${before#--}" && return ;;
		-?*) _reticle_values "$command" "${before: -1}" && return ;;
		esac
	fi
	# 'reticle mem record': the first word that is no option is one of two.
	mapfile -t verbs < <("${COMP_WORDS[0]}" complete "$command" '' 2>/dev/null)
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${#verbs[@]} -eq 0 || " ${verbs[*]} " != *" ${COMP_WORDS[i]} "* ]] || verb=${COMP_WORDS[i]}
	done
	if [[ $cur != -* && ${#verbs[@]} -gt 0 && -z $verb ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${verbs[*]}" -- "$cur")
		return
	fi
	# A tab would be squeezed as white space, so that an empty part would vanish: use another separator.
	while IFS=$'\x1f' read -r letter name _; do
		[[ -z $letter ]] || words+=("$letter")
		[[ -z $name ]] || words+=("$name")
	done < <("${COMP_WORDS[0]}" complete "$command" 2>/dev/null | tr '\t' '\037')
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -o filenames -F _reticle reticle
