# SPDX-License-Identifier: Apache-2.0
# bash completion for reticle, driven by the program's own tables (reticle complete).
_reticle()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command='' i letter name words=()

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
	done
	if [[ -z $command ]]; then
		while IFS=$'\t' read -r name _; do
			words+=("$name")
		done < <("${COMP_WORDS[0]}" complete 2>/dev/null)
		mapfile -t COMPREPLY < <(compgen -W "${words[*]} --help --version" -- "$cur")
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
